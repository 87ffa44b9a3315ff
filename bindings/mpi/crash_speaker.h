// Of several threads that crash the first one speaks, and for some seconds at most; the process
// ends by its signal. Safe in a signal handler.
#pragma once

namespace tutti::mpi {

// True in the thread that is to speak; others wait there for the process to end. False: end it.
bool is_to_speak(int signal);
// Ends the process once the signal is not blocked any more.
void end_by(int signal);
// Where no thread has crashed this returns.
void end_behind_speaker();

}  // namespace tutti::mpi

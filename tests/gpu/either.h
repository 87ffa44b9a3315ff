// either: a collective in the form that a variable `request` says: blocking where it is null, else
// nonblocking.
#pragma once

#define EITHER(Name, name, ...) \
  (request == nullptr ? MPI_##Name(__VA_ARGS__) : MPI_I##name(__VA_ARGS__, request))

// The table of options: one row a flag, in the order help prints them.
//
// Where dialects disagree on a letter, Open MPI's meaning is taken under the names prun, mpirun
// and orterun (-N: ranks per node, -c: ranks); called as srun or torchrun that launcher's own
// meaning counts. One or two dashes, '-' or '_': all the same.
#include "cli/options.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tutti::launch::cli {
namespace {

constexpr Section kRanks = Section::ranks;
constexpr Section kPlacement = Section::placement;
constexpr Section kHosts = Section::hosts;
constexpr Section kEnvironment = Section::environment;
constexpr Section kOutput = Section::output;
constexpr Section kRunning = Section::running;
constexpr Section kTorchrun = Section::torchrun;
constexpr Section kAccepted = Section::accepted;

// clang-format off
constexpr std::array kRows{
    OptionRow{"np n c ntasks", "N", kRanks, "number of ranks of this program", "as many as slots", apply::ranks},
    OptionRow{"N npernode ppn perhost grr ntasks-per-node tasks-per-node", "N", kRanks, "ranks on each host (srun's -N, a number of hosts, is --nodes)", "", apply::ranks_per_node},
    OptionRow{"nproc-per-node", "N|auto|cpu|gpu", kRanks, "ranks on each host: a number, or as many as this host has processors or GPUs", "", apply::per_node_word, kEvery, Option::ranks_per_node},
    OptionRow{"pernode", "", kRanks, "one rank on each host", "", apply::one_per_node},
    OptionRow{"ppr", "N:OBJECT", kRanks, "the same as --map-by ppr:N:OBJECT", "", apply::ranks_per_object},
    OptionRow{"npersocket ntasks-per-socket", "N", kRanks, "ranks on each package, as --map-by ppr:N:package", "", apply::ranks_per_package},
    OptionRow{"usize", "N", kRanks, "universe size that ranks see, a number or SYSTEM", "the slots", apply::universe},

    OptionRow{"map-by m distribution", "POLICY", kPlacement, "slot, node, core, hwthread, l1cache, l2cache, l3cache, numa, package, seq, rankfile:FILE=F, ppr:N:OBJECT, pe-list=0,1, device=gpu, device=nic, device=NAME (dist:NAME); with modifiers, as in slot:OVERSUBSCRIBE,PE=2 (SPAN, NOLOCAL, ORDERED, HWTCPUS, DISPLAY)", "slot", apply::map_by, kEvery, Option::map_by},
    OptionRow{"bynode rr", "", kPlacement, "the same as --map-by node", "", apply::map_as<MapBy::node>},
    OptionRow{"rr", "", kPlacement, "mpiexec: the same as -ppn 1, and from the first host again when all have a rank", "", apply::round_robin, kHydra},
    OptionRow{"byslot", "", kPlacement, "the same as --map-by slot", "", apply::map_as<MapBy::slot>},
    OptionRow{"bycore", "", kPlacement, "the same as --map-by core", "", apply::map_as<MapBy::core>},
    OptionRow{"rank-by", "ORDER", kPlacement, "how ranks are numbered. slot: host by host; node: in turn over the hosts; fill: object by object; span: in turn over all objects; numa, core, ...: in turn over these of each host; numa:fill, numa:span", "as mapped", apply::rank_by, kEvery, Option::rank_by},
    OptionRow{"rankmap", "LIST", kPlacement, "which of the hosts each rank is on, such as 0,1,1,0; or as --rank-by", "", apply::rank_map},
    OptionRow{"bind-to binding cpu-bind numa-binding", "TARGET", kPlacement, "none, hwthread, core, l1cache, l2cache, l3cache, numa, package, or cpu-list (what --cpu-list names, each rank all of it or, by cpu-list:ordered, one); with :overload-allowed, :if-supported", "core, or what is mapped by, where every rank can have a core of its own", apply::bind_to, kEvery, Option::bind_to},
    OptionRow{"bind-to-core", "", kPlacement, "the same as --bind-to core", "", apply::bind_as<BindTo::core>},
    OptionRow{"bind-to-socket", "", kPlacement, "the same as --bind-to package", "", apply::bind_as<BindTo::package>},
    OptionRow{"bind-to-none", "", kPlacement, "the same as --bind-to none", "", apply::bind_as<BindTo::none>},
    OptionRow{"cpus-per-rank cpus-per-proc cpus-per-task", "N", kPlacement, "cores a rank is bound to", "1", apply::cpus_per_rank},
    OptionRow{"use-hwthread-cpus", "", kPlacement, "a hardware thread counts as a core", "", apply::on_in<&JobSpec::placement, &Placement::use_hwthreads>},
    OptionRow{"cpu-set cpu-list", "LIST", kPlacement, "use only these processors of each host, such as 0-3,8", "", apply::cpu_set},
    OptionRow{"rankfile rf", "FILE", kPlacement, "a file that gives ranks their hosts and processors: 'rank 0=a slot=0-1'", "", apply::rankfile},
    OptionRow{"membind mem-bind", "POLICY", kPlacement, "memory of a rank from its own NUMA nodes: local, bind; or none", "none", apply::memory_binding},
    OptionRow{"oversubscribe O overcommit", "", kPlacement, "allow more ranks than slots", "", apply::oversubscribe},
    OptionRow{"nooversubscribe no-oversubscribe", "", kPlacement, "never more ranks than slots, also on this machine", "", apply::no_oversubscribe},
    OptionRow{"nolocal skip-launch-node", "", kPlacement, "no rank on the host prun runs on", "", apply::on_in<&JobSpec::placement, &Placement::no_local>},
    OptionRow{"gpus-per-rank gpus-per-task gpus-per-proc g", "N", kPlacement, "each rank sees this many GPUs of its own (CUDA_VISIBLE_DEVICES)", "all", apply::gpus_per_rank},
    OptionRow{"report-bindings", "", kPlacement, "draw the cores each rank is bound to", "", apply::on<&JobSpec::report_bindings>},

    OptionRow{"host H hosts hosts-group hostlist machines nodelist w", "HOSTS", kHosts, "hosts and their slots, such as a:2,b:2; a name repeated adds up; a[1-4] is four hosts; with a hostfile it picks from that, also by +n0 and +e:2", "this machine", apply::host},
    OptionRow{"hostfile machinefile f machine", "FILE", kHosts, "a file of hosts, one a line: 'a slots=2' or 'a:2'", "", apply::hostfile},
    OptionRow{"default-hostfile", "FILE", kHosts, "the same as --hostfile", "", apply::hostfile},
    OptionRow{"F nodefile", "FILE", kHosts, "srun: a file of hosts", "", apply::hostfile, kSlurm},
    OptionRow{"exclude", "HOSTS", kHosts, "hosts not to use", "", apply::exclude},
    OptionRow{"x", "HOSTS", kHosts, "srun: the same as --exclude", "", apply::exclude, kSlurm},
    OptionRow{"nodes", "N", kHosts, "use this many hosts", "all", apply::node_count},
    OptionRow{"localhost", "NAME", kHosts, "the name of this machine is found anyway", "", kAsAlways},
    OptionRow{"virtual", "", kHosts, "make the hosts on this machine, out of namespaces; no root is needed", "", apply::virtual_hosts},
    OptionRow{"link-rate virtual-rate", "RATE", kHosts, "rate of each virtual host's link, such as 10gbit", "unlimited", apply::link_rate},
    OptionRow{"link-delay virtual-delay", "TIME", kHosts, "delay of each virtual host's link, such as 50us", "none", apply::link_delay},
    OptionRow{"launch-agent launcher-exec bootstrap-exec", "COMMAND", kHosts, "command that reaches a host, instead of ssh", "ssh", apply::launch_agent},
    OptionRow{"bootstrap-exec-args", "WORDS", kHosts, "arguments of that command", "", apply::agent_args},
    OptionRow{"launcher bootstrap", "NAME", kHosts, "ssh, rsh, slurm (srun starts the daemons) or fork (this machine)", "ssh; slurm in a job of Slurm", apply::launcher, kEvery, Option::launcher},
    OptionRow{"prefix", "FOLDER", kHosts, "where Tutti is installed on the hosts", "as here; sent along where it is not", apply::word<&JobSpec::remote_prefix>},
    OptionRow{"noprefix", "", kHosts, "hosts need no installation anyway", "", kAsAlways},
    OptionRow{"listen", "PORT|ADDRESS:PORT", kHosts, "wait for hosts that come by 'prun --join': as many as --nodes, or as the ranks need", "", apply::listen},
    OptionRow{"join", "ADDRESS:PORT", kHosts, "make this machine a host of the prun that listens there", "", apply::join},
    OptionRow{"key-file", "FILE", kHosts, "the secret that --listen and --join share; made when missing", "~/.config/tutti/join.key", apply::word<&JobSpec::key_file>},
    OptionRow{"link-security", "LEVEL", kHosts, "protection of data between hosts: none, integrity (a changed, lost or repeated bit ends the job) or encrypted (and nobody else can read it)", "none", apply::link_security},
    OptionRow{"interfaces iface", "LIST", kHosts, "interfaces between hosts: names, beginnings of names, subnets, such as eth0,10.1.0.0/16; ^docker,virbr: all but these (TUTTI_INTERFACES)", "all", apply::interfaces},
    OptionRow{"gpu-support", "auto|yes|no", kHosts, "whether GPU memory may be given to calls (TUTTI_GPU_SUPPORT)", "auto", apply::gpu_support},
    OptionRow{"memory-alloc-kinds memory-allocation-kinds", "LIST", kHosts, "kinds of memory that the program asks for, such as system,mpi,cuda:device (MPI 4.1's mpi_memory_alloc_kinds)", "", apply::memory_kinds},
    OptionRow{"report-links prot", "", kHosts, "print which link joins which ranks, and why", "", apply::on_in<&JobSpec::rank, &spec::RankSpec::report_links>},

    OptionRow{"x", "NAME[=VALUE]", kEnvironment, "export a variable to the ranks; NAME*: all whose names begin so", "", apply::export_variable},
    OptionRow{"env set-env", "NAME VALUE", kEnvironment, "set a variable for this program; NAME=VALUE as well", "", apply::set_variable, kEvery, Option::set_variable},
    OptionRow{"genv", "NAME VALUE", kEnvironment, "set a variable for every program; NAME=VALUE as well", "", apply::set_shared_variable, kEvery, Option::set_shared_variable},
    OptionRow{"envlist", "NAMES", kEnvironment, "export A,B,... to this program", "", apply::list_variables},
    OptionRow{"genvlist", "NAMES", kEnvironment, "export A,B,... to every program", "", apply::list_shared_variables},
    OptionRow{"export", "LIST", kEnvironment, "srun's form: ALL, ALL,A=1 or NONE; A,B=1 exports these alone, with PATH and HOME", "", apply::export_list},
    OptionRow{"genvall envall", "", kEnvironment, "export all of prun's environment, also to other hosts, except what is each host's own (HOME, TMPDIR, SSH_*, ...)", "called as mpiexec or srun", apply::on<&JobSpec::whole_environment>},
    OptionRow{"unset-env", "NAME", kEnvironment, "take a variable away from the ranks; NAME*: all of prun's whose names begin so", "", apply::unset_variable},
    OptionRow{"append-env", "NAME VALUE", kEnvironment, "add to the end of a variable, after a ':'; NAME[c] for another separator", "", apply::append_variable, kEvery, Option::append_variable},
    OptionRow{"prepend-env", "NAME VALUE", kEnvironment, "add to the front of a variable", "", apply::prepend_variable, kEvery, Option::prepend_variable},
    OptionRow{"envnone", "", kEnvironment, "this program gets nothing of prun's environment but PATH and HOME", "", apply::clean},
    OptionRow{"genvnone", "", kEnvironment, "no program gets anything of prun's environment but PATH and HOME", "", apply::shared_clean},
    OptionRow{"path", "FOLDERS", kEnvironment, "look for the program here first", "", apply::search_path},
    OptionRow{"app-prefix", "FOLDER", kEnvironment, "its bin and lib come first in PATH and LD_LIBRARY_PATH", "", apply::app_prefix},
    OptionRow{"wdir wd D chdir cwd", "FOLDER", kEnvironment, "working folder of the ranks of this program", "where prun was started", apply::working_directory},
    OptionRow{"gwdir", "FOLDER", kEnvironment, "working folder of every program", "", apply::shared_working_directory},
    OptionRow{"mca gmca omca prtemca pmixmca gpmixmca gprtemca", "NAME VALUE", kEnvironment, "Open MPI's parameters: those known here take effect, the rest are noted once", "", apply::mca},
    OptionRow{"tune am", "FILE", kEnvironment, "a file of such parameters, 'name = value' a line", "", apply::tune},
    OptionRow{"app configfile", "FILE", kEnvironment, "a file of programs with their options, one a line", "", apply::app_file, kEvery, Option::app_file},
    OptionRow{"multi-prog", "", kEnvironment, "the program is srun's file of programs, '0-3 ./a %t' a line, '*' for all other ranks; %t rank, %o its number in the line, %n host number, %N host, %j job", "", apply::multi_prog},

    OptionRow{"tag-output", "", kOutput, "each line starts with job, rank and stream: [1,3]<stdout>:", "", apply::tag_output},
    OptionRow{"label l prepend-rank", "", kOutput, "each line starts with its rank: [3]", "", apply::label},
    OptionRow{"label l", "", kOutput, "srun: each line starts with its rank, as 'sort -n' takes it: 3:", "", apply::slurm_label, kSlurm},
    OptionRow{"prepend-pattern", "TEXT", kOutput, "each line starts with this text: %r rank, %l local rank, %h host", "", apply::tag_pattern},
    OptionRow{"timestamp-output prepend-timestamp", "", kOutput, "each line starts with the time it arrived", "", apply::on_in<&JobSpec::output, &OutputSpec::timestamps>},
    OptionRow{"json-output", "", kOutput, "each line is a JSON object: rank, host, stream, time, line", "", apply::json},
    OptionRow{"xml", "", kOutput, "each line is an XML element", "", apply::xml},
    OptionRow{"fold-output", "", kOutput, "equal lines of several ranks are shown once, with their ranks: [0-15]", "", apply::on_in<&JobSpec::output, &OutputSpec::fold>},
    OptionRow{"merge-stderr-to-stdout", "", kOutput, "forward standard error as standard output", "", apply::on_in<&JobSpec::output, &OutputSpec::merge_stderr>},
    OptionRow{"output-directory", "FOLDER", kOutput, "a file for each rank and stream there; FOLDER:copy: to the terminal as well", "", apply::output_directory},
    OptionRow{"output-filename", "FOLDER", kOutput, "the same as --output-directory, and to the terminal as well; FOLDER:nocopy: into the files only", "", apply::output_filename},
    OptionRow{"outfile-pattern outfile", "FILE", kOutput, "standard output into files: %r rank, %l local rank, %h host, %n host number", "", apply::out_file},
    OptionRow{"errfile-pattern errfile", "FILE", kOutput, "standard error into files", "", apply::err_file},
    OptionRow{"o", "FILE", kOutput, "standard output into files, in srun's form: %t rank, %n host number, %N host, %j job", "", apply::slurm_out_file},
    OptionRow{"e error", "FILE", kOutput, "standard error into files, in srun's form", "", apply::slurm_err_file},
    OptionRow{"output-from", "RANKS", kOutput, "show only what these ranks write", "all", apply::only_ranks},
    OptionRow{"output", "LIST", kOutput, "Open MPI's form: tag,tag-detailed,timestamp,merge,json,xml,fold,copy,dir=FOLDER,file=NAME (dir=FOLDER:copy: to the terminal as well); or a file, in srun's", "", apply::output},

    OptionRow{"pty", "", kRunning, "rank 0 has a terminal of its own, to which prun's passes each key; nothing of other ranks is shown", "", apply::on<&JobSpec::pty>},
    OptionRow{"stdin i input", "WHO", kRunning, "who reads standard input: all, none or ranks such as 0,2; others read end-of-file", "0", apply::stdin_to, kEvery, Option::stdin_to},
    OptionRow{"s", "WHO", kRunning, "the same as --stdin", "", apply::stdin_to, kHydra, Option::stdin_to},
    OptionRow{"timeout", "SECONDS", kRunning, "end the job after this time; 0: never (MPIEXEC_TIMEOUT as well)", "none", apply::timeout},
    OptionRow{"hang-report", "SECONDS", kRunning, "when no rank has moved for so long, say who waits for whom; the job goes on, unless a rank has died in MPI and all others wait there; 0: never", "60", apply::hang_report},
    OptionRow{"stats", "", kRunning, "print at the end: time per MPI call, time in MPI per rank, bytes per link", "", apply::on<&JobSpec::stats>},
    OptionRow{"trace", "FILE", kRunning, "write a timeline of all MPI calls, for Perfetto (ui.perfetto.dev) or chrome://tracing", "", apply::word<&JobSpec::trace_file>},
    OptionRow{"time t", "TIME", kRunning, "the same as --timeout, in srun's form: minutes, M:S, H:M:S or D-H", "none", apply::slurm_time},
    OptionRow{"spawn-timeout", "SECONDS", kRunning, "how long hosts may take to start; of hosts that join by themselves: how long --listen waits for them (600), and how long --join tries to reach it (60)", "120", apply::start_timeout},
    OptionRow{"dry-run do-not-launch test-only", "", kRunning, "print the plan and start nothing", "", apply::on<&JobSpec::dry_run>},
    OptionRow{"display", "LIST", kRunning, "map, allocation, bindings, topo", "", apply::display, kEvery, Option::display},
    OptionRow{"display-map display-devel-map display-diffable-map print-rank-map", "", kRunning, "print the plan before the job", "", apply::on<&JobSpec::display_map>},
    OptionRow{"display-allocation display-devel-allocation", "", kRunning, "print hosts and slots before the job", "", apply::on<&JobSpec::display_allocation>},
    OptionRow{"display-topo", "", kRunning, "print what each host is made of", "", apply::on<&JobSpec::display_topo>},
    OptionRow{"enable-recovery continuous disable-auto-cleanup", "", kRunning, "a rank that fails does not end the others", "", apply::on<&JobSpec::keep_going>},
    OptionRow{"disable-recovery", "", kRunning, "a rank that fails ends the others, whatever stood before; no restarts", "", apply::no_recovery},
    OptionRow{"kill-on-bad-exit K", "[0|1]", kRunning, "0: a rank that fails does not end the others", "1", apply::kill_on_bad_exit},
    OptionRow{"no-kill k", "[off]", kRunning, "the same as --enable-recovery", "", apply::no_kill},
    OptionRow{"runtime-options", "LIST", kRunning, "Open MPI 5's form: error-nonzero-status=0, continuous, recoverable, max-restarts=N, timeout=S, spawn-timeout=S, donotlaunch", "", apply::runtime_options},
    OptionRow{"print-all-exitcodes exitinfo", "", kRunning, "say how every rank ended that did not end with 0", "", apply::on<&JobSpec::report_exits>},
    OptionRow{"max-restarts", "N", kRunning, "start all ranks again when one fails, so many times", "0", apply::max_restarts, kEvery, Option::max_restarts},
    OptionRow{"report-pid", "FILE", kRunning, "write prun's process number there; - standard output, + standard error", "", apply::word<&JobSpec::pid_file>},
    OptionRow{"verbose v debug-devel d debug-daemons", "", kRunning, "say what is being done, from state to state", "", apply::on<&JobSpec::verbose>},
    OptionRow{"check", "", kRunning, "prove that the hosts can run a job", "", apply::show_check},
    OptionRow{"ps", "", kRunning, "list your jobs that were started on this machine and run", "", apply::show_jobs},
    OptionRow{"stacks", "[JOB]", kRunning, "print what each rank of a running job is in, and its stack (by eu-stack or gdb)", "", apply::show_stacks, kEvery, Option::stacks},
    OptionRow{"gdb", "RANK[@JOB]", kRunning, "attach the debugger to this rank of a running job, on this terminal", "", apply::attach_debugger},
    OptionRow{"version V info", "", kRunning, "print the version", "", apply::show_version},
    OptionRow{"help h ? usage", "[TOPIC]", kRunning, "print help; topics are the sections, exit, all, and any option", "", apply::show_help, kEvery, Option::help},
    OptionRow{"print-page", "PAGE", kRunning, "print man (the manual page), bash, zsh, fish (completion) or options (the table of the documentation)", "", apply::show_page},

    OptionRow{"standalone", "", kTorchrun, "one node, no rendezvous", "", apply::standalone, kTorch},
    OptionRow{"nnodes", "N|MIN:MAX", kTorchrun, "nodes of the job; with MIN:MAX they may come and go", "1", apply::nnodes, kTorch},
    OptionRow{"node-rank", "N", kTorchrun, "number of this node, when each is started by itself; 0 leads", "", apply::node_rank, kTorch},
    OptionRow{"rdzv-id", "NAME", kTorchrun, "name of the job: nodes that say the same meet", "none", apply::run_id, kTorch},
    OptionRow{"rdzv-backend", "NAME", kTorchrun, "static (fixed nodes) or c10d (they may come and go); etcd is taken as c10d", "static", apply::rendezvous_backend, kTorch},
    OptionRow{"rdzv-endpoint", "HOST:PORT", kTorchrun, "where the nodes meet: on HOST the first one leads", "", apply::rendezvous_endpoint, kTorch},
    OptionRow{"rdzv-conf", "LIST", kTorchrun, "join_timeout=S, timeout=S, last_call_timeout=S, rank=N, is_host=0|1; others have no effect", "", apply::rendezvous_conf, kTorch},
    OptionRow{"master-addr", "ADDRESS", kTorchrun, "MASTER_ADDR, and where static nodes meet", "rank 0's host, as the others reach it", apply::word_in<&JobSpec::rank, &spec::RankSpec::master_address>, kTorch},
    OptionRow{"master-port", "PORT", kTorchrun, "MASTER_PORT, and where static nodes meet; 0, on one node: any that is free", "a free one; 29500 where static nodes meet", apply::master_port, kTorch},
    OptionRow{"local-addr", "ADDRESS", kTorchrun, "address of this node; of the first one: MASTER_ADDR, unless --master-addr gives it", "as the other nodes reach it", apply::word<&JobSpec::local_address>, kTorch},
    OptionRow{"m module", "", kTorchrun, "the program is a Python module", "", apply::module, kTorch},
    OptionRow{"no-python", "", kTorchrun, "the program is no Python script", "", apply::no_python, kTorch},
    OptionRow{"run-path", "", kTorchrun, "the script is run as any other", "", apply::run_path, kTorch},
    OptionRow{"pass-local-rank", "", kTorchrun, "give the script --local-rank=N, as torch.distributed.launch does", "", apply::pass_local_rank, kTorch},
    OptionRow{"use-env", "", kTorchrun, "LOCAL_RANK is in the environment only", "", apply::use_environment, kTorch},
    OptionRow{"role", "NAME", kTorchrun, "ROLE_NAME", "default", apply::word_in<&JobSpec::rank, &spec::RankSpec::role>, kTorch},
    OptionRow{"log-dir", "FOLDER", kTorchrun, "files of --redirects and --tee: FOLDER/RUN_JOB/attempt_N/LOCAL_RANK/stdout.log; by itself, of both streams", "", apply::log_folder, kTorch},
    OptionRow{"redirects r", "WHAT", kTorchrun, "what goes into files: 0 nothing, 1 stdout, 2 stderr, 3 both; or 0:3,1:1 by local rank", "0", apply::redirects, kTorch},
    OptionRow{"tee t", "WHAT", kTorchrun, "what goes into files and to the terminal", "0", apply::tees, kTorch},
    OptionRow{"local-ranks-filter", "RANKS", kTorchrun, "show only what these local ranks write", "all", apply::only_local_ranks, kTorch},
    OptionRow{"monitor-interval", "SECONDS", kTorchrun, "a failure is seen at once", "", kAsAlways, kTorch},
    OptionRow{"signals-to-handle", "LIST", kTorchrun, "TERM, INT, HUP and QUIT are passed on anyway", "", kAsAlways, kTorch},
    OptionRow{"start-method", "NAME", kTorchrun, "no effect", "", kNoted, kTorch},
    OptionRow{"logs-specs", "NAME", kTorchrun, "no effect", "", kNoted, kTorch},
    OptionRow{"log-line-prefix-template", "TEXT", kTorchrun, "no effect: lines are marked by --prepend-pattern", "", kNoted, kTorch},
    OptionRow{"shutdown-timeout", "SECONDS", kTorchrun, "no effect", "", kNoted, kTorch},
    OptionRow{"print-completion", "SHELL", kTorchrun, "the same as --print-page, for bash, zsh and fish", "", apply::show_page, kTorch},
    OptionRow{"event-log-handler", "NAME", kTorchrun, "no effect", "", kNoted, kTorch},
    OptionRow{"duplicate-stdout-filters", "LIST", kTorchrun, "no effect", "", kNoted, kTorch},
    OptionRow{"duplicate-stderr-filters", "LIST", kTorchrun, "no effect", "", kNoted, kTorch},
    OptionRow{"virtual-local-rank", "", kTorchrun, "no effect", "", kNoted, kTorch},

    OptionRow{"c", "N", kPlacement, "srun: cores of a rank", "1", apply::cpus_per_rank, kSlurm},
    OptionRow{"N", "N", kHosts, "srun: use this many hosts", "all", apply::node_count, kSlurm},
    OptionRow{"s oversubscribe", "", kAccepted, "srun: what others of the job use is shared anyway; -O allows more ranks than slots", "", kAsAlways, kSlurm},
    OptionRow{"Z no-allocate", "", kAccepted, "srun: no allocation is asked for anyway", "", kAsAlways, kSlurm},
    OptionRow{"J job-name p partition A account q qos C constraint reservation comment", "NAME", kAccepted, "srun: the allocation is there already", "", kNoted, kSlurm},
    OptionRow{"M clusters S core-spec cluster-constraint acctg-freq bb bbf cpu-freq deadline delay-boot gpu-freq gres-flags mail-type mail-user mcs-label mincpus power prefer priority switches time-min tmp wckey thread-spec cpus-per-gpu gpus-per-socket", "VALUE", kAccepted, "srun: the allocation is there already", "", kNoted, kSlurm},
    OptionRow{"nice", "[N]", kAccepted, "srun: the allocation is there already", "", kNoted, kSlurm},
    OptionRow{"contiguous reboot spread-job use-min-nodes", "", kAccepted, "srun: the allocation is there already", "", kNoted, kSlurm},
    OptionRow{"E preserve-env X disable-status quit-on-interrupt", "", kAccepted, "srun: no effect", "", kNoted, kSlurm},
    OptionRow{"T threads msg-timeout accel-bind profile", "VALUE", kAccepted, "srun: no effect", "", kNoted, kSlurm},
    OptionRow{"I immediate compress send-libs propagate resv-ports", "[VALUE]", kAccepted, "srun: no effect", "", kNoted, kSlurm},
    OptionRow{"bcast", "[FILE]", kAccepted, "srun: no effect: the program must be on every host", "", kNoted, kSlurm},
    OptionRow{"exclusive", "[WHO]", kAccepted, "srun: no effect", "", kAsAlways, kSlurm},
    OptionRow{"H hold", "", kAccepted, "prun starts at once; sbatch --hold submits a job that waits", "", kRefused, kSlurm},
    OptionRow{"b begin", "TIME", kAccepted, "prun starts at once; sbatch --begin submits a job for later", "", kRefused, kSlurm},
    OptionRow{"r relative", "N", kAccepted, "name the hosts by -w, or those to leave out by -x", "", kRefused, kSlurm},
    OptionRow{"prolog epilog task-prolog task-epilog", "PROGRAM", kAccepted, "run it from a script around prun, or around the ranks' program", "", kRefused, kSlurm},
    OptionRow{"container", "FOLDER", kAccepted, "start the container's own command as the program", "", kRefused, kSlurm},
    OptionRow{"uid gid", "ID", kAccepted, "start prun as that user, as by sudo -u", "", kRefused, kSlurm},
    OptionRow{"ntasks-per-gpu", "N", kAccepted, "say how many GPUs each rank has, by --gpus-per-task", "", kRefused, kSlurm},
    OptionRow{"x11", "[WHICH]", kAccepted, "give ssh its own option, by --launch-agent 'ssh -X'", "", kRefused, kSlurm},
    OptionRow{"d dependency G W wait L licenses B extra-node-info", "VALUE", kAccepted, "srun: no effect", "", kNoted, kSlurm},
    OptionRow{"jobid", "ID", kAccepted, "srun: the Slurm job that this is started in", "", apply::slurm_job},
    OptionRow{"Q", "", kAccepted, "srun: no effect", "", kAsAlways, kSlurm},

    OptionRow{"allow-run-as-root", "", kAccepted, "always allowed", "", kAsAlways},
    OptionRow{"unbuffered u", "", kAccepted, "prun forwards lines as they come; 'stdbuf -oL ./app' makes a C program write them so", "", kAsAlways},
    OptionRow{"q quiet show-progress", "", kAccepted, "the status line comes by itself", "", kAsAlways},
    OptionRow{"forward-signals", "LIST", kAccepted, "INT, TERM, HUP, QUIT, TSTP, CONT, USR1, USR2, ABRT and ALRM are passed on anyway", "", kAsAlways},
    OptionRow{"raw", "", kAccepted, "lines are not changed unless asked for", "", kAsAlways},
    OptionRow{"overlap exact exclusive share", "", kAccepted, "srun's steps: no effect", "", kAsAlways},
    OptionRow{"personality nameserver ompi-server", "NAME", kAccepted, "no effect", "", kNoted},
    OptionRow{"stream-buffering", "MODE", kAccepted, "no effect: programs buffer as they will", "", kNoted},
    OptionRow{"mpi", "NAME", kAccepted, "no effect: ranks of any MPI find each other", "", Action{apply::slurm_mpi, Effect::noted}},
    OptionRow{"rmk port-range initial-errhandler order-nodes hydra-debug topolib localroot", "VALUE", kAccepted, "no effect", "", kNoted},
    OptionRow{"with-ft het-group pack-group gres gpu-bind gpus-per-node gpus gpu-subdevs-per-proc mem mem-per-cpu mem-per-gpu hint ntasks-per-core threads-per-core sockets-per-node cores-per-socket signal bcast-exclude slurmd-debug open-mode network", "VALUE", kAccepted, "no effect", "", kNoted},
    OptionRow{"demux max-vm-size cartofile cf report-events app-pmix-prefix pmix-prefix tmpdir keepalive", "VALUE", kAccepted, "no effect", "", kNoted},
    OptionRow{"profile debug-daemons-file do-not-resolve enable-instant-on-support fwd-mpirun-port novm report-child-jobs-separately use-regexp disable-hostname-propagation hybrid-hosts no-app-prefix no-ready-msg set-sid", "", kAccepted, "no effect", "", kNoted},
    OptionRow{"aps mps check-mpi cleanup ilp64 ordered-output pmi-port silent-abort trace-collectives trace-pt2pt", "", kAccepted, "no effect", "", kNoted},
    OptionRow{"branch-count", "N", kAccepted, "no effect", "", kNoted},
    OptionRow{"gdb", "", kAccepted, "write the debugger in front of the program (xterm -e gdb ./app), or attach to a rank that runs, by 'prun --gdb RANK' beside it", "", kRefused, kHydra},
    OptionRow{"gdb-args", "WORDS", kAccepted, "write the debugger in front of the program", "", kRefused, kHydra},
    OptionRow{"gtool gtoolfile", "TOOL", kAccepted, "write the tool in front of the program", "", kRefused},
    OptionRow{"umask gumask", "MASK", kAccepted, "write sh -c 'umask MASK; exec ./app'", "", kRefused},
    OptionRow{"leave-session-attached", "", kAccepted, "daemons stay connected and are heard anyway", "", kAsAlways},
    OptionRow{"hetero-nodes", "", kAccepted, "each host is looked at anyway", "", kAsAlways},
    OptionRow{"disable-x", "", kAccepted, "X is forwarded only where ssh's own settings say so", "", kAsAlways},
    OptionRow{"enable-x", "", kAccepted, "give ssh its own option, by --launch-agent 'ssh -X'", "", kRefused},
    OptionRow{"debug tv", "", kAccepted, "start the job, and attach by 'prun --gdb RANK' beside it; a debugger that starts programs is written in front of them", "", kRefused},
    OptionRow{"debugger", "LIST", kAccepted, "start the job, and attach by 'prun --gdb RANK' beside it", "", kRefused},
    OptionRow{"dvm dvm-uri hnp terminate system-server singleton", "", kAccepted, "there are no daemons that outlive a job; leave it out", "", kRefused},
    OptionRow{"add-host add-hostfile", "HOSTS", kAccepted, "name all hosts of the job, by --host or --hostfile", "", kRefused},
    OptionRow{"pset", "NAME", kAccepted, "tell programs apart by MPI_APPNUM, their number on the command line", "", kRefused},
    OptionRow{"index-argv-by-rank", "", kAccepted, "the rank's number is in RANK: bash -c 'exec -a app-$RANK ./app'", "", kRefused},
    OptionRow{"set-cwd-to-session-dir", "", kAccepted, "no folder is made for a job; name one by --wdir", "", kRefused},
    OptionRow{"xml-file", "FILE", kAccepted, "use --xml, and send standard output into the file", "", kRefused},
    OptionRow{"preload-binary bcast s", "", kAccepted, "no effect: the program must be on every host", "", kNoted},
    OptionRow{"preload-files", "FILES", kAccepted, "no effect: files must be on every host", "", kNoted},
    OptionRow{"soft arch file", "VALUE", kAccepted, "MPI's own words: no effect", "", kNoted},
    OptionRow{"report-uri xterm", "WHERE", kAccepted, "no effect", "", kNoted},
    OptionRow{"stop-on-exec stop-in-init stop-in-app display-comm output-proctable verbose-output", "", kAccepted, "no effect", "", kNoted},
    OptionRow{"no-pty", "", kAccepted, "ranks have pipes anyway, unless --pty gives rank 0 a terminal", "", kAsAlways},
    OptionRow{"get-stack-traces report-state-on-timeout", "", kAccepted, "the report at a time limit has both anyway", "", kAsAlways},
};
// clang-format on

}  // namespace

std::span<const OptionRow> option_rows() {
  return kRows;
}

std::vector<std::string> names_of(const OptionRow& row) {
  return text::split(row.names, ' ');
}

int words_of(const OptionRow& row) {
  const std::string words = row.words;
  if (words.empty() || words.front() == '[') return 0;
  return static_cast<int>(text::split(words, ' ').size());
}

Dialect dialect_of(const std::string& tool) {
  if (tool == "torchrun" || tool == "torch.distributed.launch") return kTorch;
  if (tool == "srun") return kSlurm;
  if (tool.starts_with("mpiexec")) return kHydra;
  return kEvery;
}

std::string meaning_of(const OptionRow& row) {
  const std::string fallback = row.fallback;
  return row.meaning + (fallback.empty() ? "" : " (default: " + fallback + ")");
}

const OptionRow* find_option(std::string name, Dialect dialect) {
  std::replace(name.begin(), name.end(), '_', '-');
  const OptionRow* common = nullptr;
  const OptionRow* foreign = nullptr;
  for (const OptionRow& row : kRows) {
    const auto names = names_of(row);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    if (row.dialect == dialect && dialect != kEvery) return &row;
    if (row.dialect == kEvery)
      common = &row;
    else if (foreign == nullptr)
      foreign = &row;
  }
  return common != nullptr ? common : foreign;
}

bool is_option(const std::string& word, const OptionRow& before, Dialect dialect) {
  constexpr std::array kFree{"NAME VALUE", "COMMAND", "WORDS", "TEXT", "TOOL"};
  if (word.size() < 2 || word[0] != '-' ||
      std::find(kFree.begin(), kFree.end(), std::string_view(before.words)) != kFree.end())
    return false;
  if (word[1] == '-') return true;
  const std::string name = word.substr(1, word.find('=') - 1);
  if (find_option(name, dialect) != nullptr) return true;
  const auto digits = name.find_first_of("0123456789");  // "-n4"
  if (digits == std::string::npos || !text::parse_int(name.substr(digits))) return false;
  const OptionRow* const row = find_option(name.substr(0, digits), dialect);
  return row != nullptr && std::string_view(row->words) == "N";
}

std::string dashed(const std::string& name) {
  return (name.size() == 1 ? "-" : "--") + name;
}

}  // namespace tutti::launch::cli

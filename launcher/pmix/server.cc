// The callbacks of OpenPMIx, as messages to the daemon and back.
//
// The library calls on a thread of its own. Each callback copies what it was given and posts it to
// the loop; answers go back by the function it came with. The library hands callbacks no pointer
// of ours, hence the one global below.
#include "pmix/server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "pmix/job_info.h"

namespace tutti::launch::pmix {
namespace {

PmixHost* the_host = nullptr;  // set before the library starts, constant while it runs

// Parameters of Open MPI that name the folder of the files by which ranks share memory. A rank that
// does not end by MPI_Finalize leaves its own there.
constexpr std::array kFoldersOfSharedMemory{
    "btl_vader_backing_directory", "btl_sm_backing_directory", "osc_sm_backing_directory",
    "osc_rdma_backing_directory", "osc_ucx_backing_directory"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whether the user names one of them in a file of parameters, over which variables win. Two names
// may be one parameter, so he has chosen them all.
bool are_chosen_in_files() {
  std::string files = variable("OMPI_MCA_mca_base_param_files");
  if (files.empty()) files = variable("HOME") + "/.openmpi/mca-params.conf";
  for (const std::string& path : text::split(files, ','))
    for (const std::string& line : text::split(file_text(path).value_or(""), '\n')) {
      const auto name = text::trim(std::string_view(line).substr(0, line.find('=')));
      if (std::find(kFoldersOfSharedMemory.begin(), kFoldersOfSharedMemory.end(), name) !=
          kFoldersOfSharedMemory.end())
        return true;
    }
  return false;
}

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_info_t*, std::size_t,
                           pmix_op_cbfunc_t, void*) {
  the_host->loop().post([rank = static_cast<int>(proc->rank)] {
    the_host->say(control::Served{rank, false});
  });
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t done, void* data) {
  // The rank may end as soon as it is answered: the daemon hears first.
  the_host->loop().post([rank = static_cast<int>(proc->rank), done, data] {
    the_host->say(control::Served{rank, true});
    if (done != nullptr) done(PMIX_SUCCESS, data);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char message[],
                       pmix_proc_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  control::RankAborts aborts{static_cast<int>(proc->rank), status,
                             message == nullptr ? "" : message, false};
  aborts.reason = aborts.reason.substr(0, aborts.reason.find('\n'));
  if (aborts.reason == "N/A") aborts.reason.clear();  // Open MPI's word for none
  the_host->loop().post([aborts] { the_host->say(aborts); });
  return PMIX_OPERATION_SUCCEEDED;
}

void release(void* data) {
  std::free(data);
}

// Copies for the library, which calls release() when it has read it.
PmixHost::Answer answer_by(pmix_modex_cbfunc_t done, void* data) {
  return [done, data](int status, const std::string& bytes) {
    auto* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
    if (copy != nullptr) bytes.copy(copy, bytes.size());
    done(copy == nullptr ? PMIX_ERR_NOMEM : status, copy, copy == nullptr ? 0 : bytes.size(), data,
         release, copy);
  };
}

pmix_status_t on_fence(const pmix_proc_t procs[], std::size_t count, const pmix_info_t[],
                       std::size_t, char* data, std::size_t bytes, pmix_modex_cbfunc_t done,
                       void* closure) {
  control::Gather part;
  part.name = "pmix";
  std::set<int> hosts;
  const control::ServeJob& job = the_host->job();
  for (std::size_t i = 0; i < count; ++i) {
    const bool one = procs[i].rank < job.host_of.size();
    part.name += one ? " " + std::to_string(procs[i].rank) : " all";
    if (one)
      hosts.insert(job.host_of[procs[i].rank]);
    else
      hosts.insert(job.host_of.begin(), job.host_of.end());
  }
  part.hosts.assign(hosts.begin(), hosts.end());
  if (data != nullptr) part.part.assign(data, bytes);
  std::free(data);
  the_host->loop().post([part = std::move(part), answer = answer_by(done, closure)] {
    the_host->gather(part, answer);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_fetch(const pmix_proc_t* proc, const pmix_info_t[], std::size_t,
                       pmix_modex_cbfunc_t done, void* closure) {
  the_host->loop().post([rank = static_cast<int>(proc->rank), answer = answer_by(done, closure)] {
    the_host->fetch(rank, answer);
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_register_events(pmix_status_t*, std::size_t, const pmix_info_t[], std::size_t,
                                 pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t on_deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t callbacks() {
  pmix_server_module_t module{};
  module.client_connected2 = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_fetch;
  module.register_events = on_register_events;
  module.deregister_events = on_deregister_events;
  return module;
}

pmix_proc_t proc_of(const control::ServeJob& job, int rank) {
  pmix_proc_t proc{};
  name_of_job(job).copy(proc.nspace, PMIX_MAX_NSLEN);
  proc.rank = static_cast<pmix_rank_t>(rank);
  return proc;
}

Result<void> done(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return {};
  return fail(Code::other, std::string(what) + ": " + PMIx_Error_string(status));
}

}  // namespace

PmixHost::~PmixHost() {
  if (serves_) PMIx_server_finalize();
}

Result<void> PmixHost::serve(const control::ServeJob& job) {
  job_ = job;
  TUTTI_DO(own_folder_.make(where_));
  // Without one Open MPI chooses.
  if (!are_chosen_in_files()) [[maybe_unused]]
    const auto made = shared_memory_.make(kSharedMemoryFolder);
  const std::string& folder = own_folder_.path();
  the_host = this;
  ::setenv("PMIX_MCA_gds", "hash", 0);  // no shared memory files of its own
  // The library describes this machine to itself, and nobody asks it: what takes long is left out.
  ::setenv("HWLOC_COMPONENTS", "-x86,-linux:pci,-linux:io", 0);
  ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);
  pmix_server_module_t module = callbacks();
  InfoList how;
  how.add(PMIX_SERVER_TMPDIR, folder);
  how.add(PMIX_SYSTEM_TMPDIR, folder);
  how.add(PMIX_HOSTNAME, job.hosts.at(static_cast<std::size_t>(job.host)));
  how.add(PMIX_SERVER_NSPACE, name_of_job(job) + "-daemons");
  how.add_rank(PMIX_SERVER_RANK, static_cast<pmix_rank_t>(job.host));
  TUTTI_DO(done(PMIx_server_init(&module, how.data(), how.size()), "PMIx_server_init"));
  serves_ = true;
  InfoList facts = facts_of(job, folder);
  return done(
      PMIx_server_register_nspace(name_of_job(job).c_str(), static_cast<int>(job.local.size()),
                                  facts.data(), facts.size(), nullptr, nullptr),
      "PMIx_server_register_nspace");
}

Result<control::Variables> PmixHost::admit(int rank) {
  const pmix_proc_t proc = proc_of(job_, rank);
  TUTTI_DO(
      done(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
           "PMIx_server_register_client"));
  char** environment = nullptr;
  TUTTI_DO(done(PMIx_server_setup_fork(&proc, &environment), "PMIx_server_setup_fork"));
  control::Variables variables;
  for (char** one = environment; one != nullptr && *one != nullptr; ++one) {
    variables.all.emplace_back(*one);
    std::free(*one);
  }
  std::free(environment);
  // Open MPI 4 looks for a daemon of its own before it looks for PMIx: any address will do.
  variables.all.emplace_back("OMPI_MCA_orte_local_daemon_uri=1.0;tcp://127.0.0.1:1");
  for (const std::string parameter : kFoldersOfSharedMemory)
    if (!shared_memory_.path().empty())
      variables.all.push_back("OMPI_MCA_" + parameter + "=" + shared_memory_.path());
  return variables;
}

void PmixHost::hear(const control::Message& message) {
  if (const auto* job = std::get_if<control::ServeJob>(&message)) {
    control::Serves serves;
    if (const auto served = serve(*job); !served) serves.problem = served.error().text;
    for (const int rank : job->local) {
      if (!serves.problem.empty()) break;
      auto variables = admit(rank);
      if (variables)
        serves.ranks.push_back(std::move(*variables));
      else
        serves.problem = variables.error().text;
    }
    say(serves);
  }
  if (const auto* all = std::get_if<control::Gathered>(&message)) handle(*all);
  if (const auto* wanted = std::get_if<control::Fetch>(&message)) handle(*wanted);
  if (const auto* got = std::get_if<control::Fetched>(&message)) handle(*got);
}

void PmixHost::gather(control::Gather part, Answer answer) {
  gathers_[part.name] = std::move(answer);
  say(part);
}

void PmixHost::handle(const control::Gathered& all) {
  const auto waiting = gathers_.find(all.name);
  if (waiting == gathers_.end()) return;
  const Answer answer = std::move(waiting->second);
  gathers_.erase(waiting);
  std::string whole;
  for (const std::string& part : all.parts) whole += part;
  answer(PMIX_SUCCESS, whole);
}

void PmixHost::fetch(int rank, Answer answer) {
  fetches_[++last_fetch_] = std::move(answer);
  say(control::Fetch{rank, job_.host, last_fetch_});
}

void PmixHost::handle(const control::Fetch& wanted) {
  const pmix_proc_t proc = proc_of(job_, wanted.rank);
  auto* question = new control::Fetch(wanted);
  const auto status = PMIx_server_dmodex_request(
      &proc,
      [](pmix_status_t outcome, char* data, std::size_t bytes, void* closure) {
        const std::unique_ptr<control::Fetch> asked(static_cast<control::Fetch*>(closure));
        control::Fetched answer{asked->asker, asked->number, outcome, {}};
        if (data != nullptr) answer.data.assign(data, bytes);
        the_host->loop().post([answer] { the_host->say(answer); });
      },
      question);
  if (status == PMIX_SUCCESS) return;
  delete question;
  say(control::Fetched{wanted.asker, wanted.number, status, {}});
}

void PmixHost::handle(const control::Fetched& got) {
  const auto waiting = fetches_.find(got.number);
  if (waiting == fetches_.end()) return;
  waiting->second(got.status, got.data);
  fetches_.erase(waiting);
}

}  // namespace tutti::launch::pmix

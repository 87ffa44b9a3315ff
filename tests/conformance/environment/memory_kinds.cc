// MPI 5.0, 11.4.3: kinds of memory: MPI_INFO_ENV says what the launcher was given, sessions and
// communicators what there is of it; assertions are kept where there is what they name. And
// mpi-ext.h says the same of GPU memory. Run with --memory-alloc-kinds
// nonsense,mpi:alloc_mem,cuda:device; the word, if any, is whether there is GPU memory.
#include <dlfcn.h>
#include <mpi-ext.h>

#include "check.h"

using namespace ranks;

namespace {

constexpr const char* kKinds = "mpi_memory_alloc_kinds";
constexpr const char* kAsserted = "mpi_assert_memory_alloc_kinds";

std::string value(MPI_Info info, const char* key) {
  char text[MPI_MAX_INFO_VAL] = "";
  int room = sizeof text, flag = 0;
  MPI_Info_get_string(info, key, &room, text, &flag);
  return flag != 0 ? text : "(none)";
}

std::string of_comm(MPI_Comm comm, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_get_info(comm, &info);
  const std::string text = value(info, key);
  MPI_Info_free(&info);
  return text;
}

void asserts(MPI_Comm comm, const char* kinds) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, kAsserted, kinds);
  CHECK(MPI_Comm_set_info(comm, info) == MPI_SUCCESS);
  MPI_Info_free(&info);
}

// Whether a libcuda that is loaded was initialised, by anybody.
bool has_begun_cuda() {
  constexpr int kNotInitialized = 3;
  void* const call = ::dlsym(RTLD_DEFAULT, "cuDeviceGetCount");
  int count = 0;
  return call != nullptr && reinterpret_cast<int (*)(int*)>(call)(&count) != kNotInitialized;
}

bool holds(const std::string& list, const std::string& kind) {
  return ("," + list + ",").find("," + kind + ",") != std::string::npos;
}

// What a session asked for counts for it, instead of what the launcher was given.
void look_at_session(const char* asked, bool mpi_named) {
  MPI_Info info = MPI_INFO_NULL, used = MPI_INFO_NULL;
  MPI_Info_create(&info);
  if (asked != nullptr) MPI_Info_set(info, kKinds, asked);
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  MPI_Session_get_info(session, &used);
  const std::string provided = value(used, kKinds);
  CHECK(holds(provided, "mpi") && holds(provided, "system"));
  CHECK(holds(provided, "mpi:alloc_mem") == mpi_named);
  CHECK(!holds(provided, "mpi:nonsense") && !holds(provided, "nonsense"));
  CHECK(holds(provided, "cuda:device") == (MPIX_Query_cuda_support() == 1));
  CHECK(!holds(provided, "cuda:nonsense"));
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "memory_kinds", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  CHECK(of_comm(comm, kKinds) == provided);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  CHECK(value(MPI_INFO_ENV, kKinds) == "nonsense,mpi:alloc_mem,cuda:device");
  const bool had_begun = has_begun_cuda();
  of_comm(MPI_COMM_WORLD, kKinds);
  CHECK(has_begun_cuda() == had_begun);  // a list of kinds is no reason to fix what CUDA sees
  const bool cuda = MPIX_Query_cuda_support() == 1;
  const std::string provided = of_comm(MPI_COMM_WORLD, kKinds);
  if (argc > 1) CHECK(cuda == (std::string(argv[1]) == "yes"));
  CHECK(holds(provided, "mpi") && holds(provided, "system") && holds(provided, "mpi:alloc_mem"));
  CHECK(!holds(provided, "nonsense"));
  for (const char* kind : {"cuda", "cuda:host", "cuda:device", "cuda:managed"})
    CHECK(holds(provided, kind) == cuda);

  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(of_comm(comm, kAsserted) == "(none)");
  asserts(comm, "system,mpi:win_allocate");
  CHECK(of_comm(comm, kAsserted) == "system,mpi:win_allocate");
  for (const char* wrong : {"system,nonsense", "system:alloc_mem", "mpi:", "rocm:device"}) {
    asserts(comm, wrong);
    CHECK(of_comm(comm, kAsserted) == "system,mpi:win_allocate");
  }
  asserts(comm, "cuda:device");
  CHECK(of_comm(comm, kAsserted) == (cuda ? "cuda:device" : "system,mpi:win_allocate"));
  if (cuda) {
    asserts(comm, "system, cuda:host ,cuda:managed");
    CHECK(of_comm(comm, kAsserted) == "system, cuda:host ,cuda:managed");
    asserts(comm, "cuda:nonsense");
    CHECK(of_comm(comm, kAsserted) == "system, cuda:host ,cuda:managed");
  }
  MPI_Comm_free(&comm);

  look_at_session(nullptr, true);
  look_at_session("system", false);
  look_at_session("mpi:alloc_mem,mpi:nonsense,cuda:nonsense", true);

  int supported = 7;
  CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS &&
        supported == MPIX_Query_cuda_support());
  for (const int kind : {MPIX_GPU_SUPPORT_ZE, MPIX_GPU_SUPPORT_HIP})
    CHECK(MPIX_GPU_query_support(kind, &supported) == MPI_SUCCESS && supported == 0);
  CHECK(MPIX_GPU_query_support(3, &supported) == MPI_ERR_ARG);
  CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, nullptr) == MPI_ERR_ARG);
  CHECK(MPIX_Query_rocm_support() == 0 && MPIX_Query_hip_support() == 0);
  CHECK(MPIX_Query_ze_support() == 0 && (MPIX_CUDA_AWARE_SUPPORT == 1 || !cuda));
  return done();
}

// The board of PMIx: Open MPI's mpirun, and Slurm's with --mpi=pmix.
//
// The library is opened only when its variables are there; nothing is linked to it.
#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "wireup/board.h"

namespace tutti::wireup {
namespace {

struct PmixFunctions {
  decltype(&::PMIx_Init) init;
  decltype(&::PMIx_Put) put;
  decltype(&::PMIx_Commit) commit;
  decltype(&::PMIx_Fence) fence;
  decltype(&::PMIx_Get) get;
  decltype(&::PMIx_Abort) abort;
  decltype(&::PMIx_Finalize) finalize;
  decltype(&::PMIx_Error_string) error_string;
};

template <class F>
bool find(void* handle, const char* name, F* function) {
  *function = reinterpret_cast<F>(::dlsym(handle, name));
  return *function != nullptr;
}

Result<PmixFunctions> open_library() {
  void* const handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(Code::other, std::string("this program was started by a launcher with PMIx, and "
                                         "libpmix.so.2 cannot be opened (") +
                                 ::dlerror() +
                                 "); install it (Debian: libpmix2) or start the program with prun");
  PmixFunctions library{};
  if (!find(handle, "PMIx_Init", &library.init) || !find(handle, "PMIx_Put", &library.put) ||
      !find(handle, "PMIx_Commit", &library.commit) ||
      !find(handle, "PMIx_Fence", &library.fence) || !find(handle, "PMIx_Get", &library.get) ||
      !find(handle, "PMIx_Abort", &library.abort) ||
      !find(handle, "PMIx_Finalize", &library.finalize) ||
      !find(handle, "PMIx_Error_string", &library.error_string))
    return fail(Code::other, "libpmix.so.2 lacks functions of PMIx 3; install a newer one");
  return library;
}

class PmixBoard final : public Board {
 public:
  explicit PmixBoard(const PmixFunctions& library) : library_(library) {}

  Result<void> start() {
    TUTTI_DO(done(library_.init(&self_, nullptr, 0), "PMIx_Init"));
    TUTTI_TRY(size, number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE));
    TUTTI_DO(
        check_rank(self_.rank, size,
                   "PMIx says rank " + std::to_string(self_.rank) + " of " + std::to_string(size)));
    rank_ = static_cast<int>(self_.rank);
    size_ = static_cast<int>(size);
    if (const auto node = number(self_.rank, PMIX_NODEID)) node_ = std::to_string(*node);
    return {};
  }
  Result<void> put(const std::string& key, const std::string& value) override {
    pmix_value_t text{};
    text.type = PMIX_STRING;
    text.data.string = const_cast<char*>(value.c_str());
    pmix_key_t name{};
    key_of(key).copy(name, PMIX_MAX_KEYLEN);
    TUTTI_DO(done(library_.put(PMIX_GLOBAL, name, &text), "PMIx_Put"));
    return done(library_.commit(), "PMIx_Commit");
  }
  Result<void> fence() override {
    pmix_info_t collect{};
    std::string(PMIX_COLLECT_DATA).copy(collect.key, PMIX_MAX_KEYLEN);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    return done(library_.fence(nullptr, 0, &collect, 1), "PMIx_Fence");
  }
  Result<std::string> get(int rank, const std::string& key) override {
    TUTTI_TRY(value, value_of(static_cast<pmix_rank_t>(rank), key_of(key)));
    if (value->type != PMIX_STRING || value->data.string == nullptr)
      return fail(Code::other, "PMIx gave no text for " + key + " of rank " + std::to_string(rank));
    std::string text = value->data.string;
    std::free(value->data.string);
    std::free(value);
    return text;
  }
  void abort(int status, const std::string& reason) override {
    library_.abort(status, reason.c_str(), nullptr, 0);
    ::sleep(2);
  }
  Result<void> finalized() override { return done(library_.finalize(nullptr, 0), "PMIx_Finalize"); }

 private:
  static std::string key_of(const std::string& key) { return "tutti." + key; }

  Result<void> done(pmix_status_t status, const char* what) const {
    if (status == PMIX_SUCCESS) return {};
    return fail(Code::other, std::string(what) + " failed: " + library_.error_string(status) +
                                 "; the launcher's PMIx server is gone or does not fit this "
                                 "libpmix.so.2");
  }
  Result<pmix_value_t*> value_of(pmix_rank_t rank, const std::string& key) const {
    pmix_proc_t whose{};
    std::memcpy(whose.nspace, self_.nspace, sizeof whose.nspace);
    whose.rank = rank;
    pmix_key_t name{};
    key.copy(name, PMIX_MAX_KEYLEN);
    pmix_value_t* value = nullptr;
    TUTTI_DO(done(library_.get(&whose, name, nullptr, 0, &value), "PMIx_Get"));
    return value;
  }
  Result<std::uint32_t> number(pmix_rank_t rank, const char* key) const {
    TUTTI_TRY(value, value_of(rank, key));
    const std::uint32_t result = value->data.uint32;
    std::free(value);
    return result;
  }

  PmixFunctions library_;
  pmix_proc_t self_{};
};

}  // namespace

Result<BoardPtr> open_pmix_board(const Lookup&) {
  TUTTI_TRY(library, open_library());
  auto board = std::make_unique<PmixBoard>(library);
  TUTTI_DO(board->start());
  return BoardPtr(std::move(board));
}

}  // namespace tutti::wireup

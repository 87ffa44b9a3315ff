// Collectives that move data, in all forms, against what every rank can work out by itself.
#include "job.h"

namespace program {

// What was given may be written over as soon as the call is back: others must have read it.
void Job::check() {
  const bool is_kept = world->mine.one_in(2);
  if (is_kept) RIGHT(in.all == given);
  in.set(0xDEADBEEFU);
  const auto end = out.all.begin() + static_cast<std::ptrdiff_t>(std::min(checked, out.all.size()));
  const auto bad = std::mismatch(out.all.begin(), end, want.all.begin()).first;
  const auto at = static_cast<std::size_t>(bad - out.all.begin());
  if (bad != end)
    fail(__FILE__, __LINE__,
         "word " + std::to_string(at) + " of " + std::to_string(out.all.size()) + " is " +
             std::to_string(*bad) + ", not " + std::to_string(want.all[at]) + "; form " +
             std::to_string(static_cast<int>(form)) + ", round " + std::to_string(round) +
             ", communicator " + std::to_string(node->id));
  out.set(0xDEADBEEFU);
}

Rooted::Rooted(const Job& job) {
  const bool inter = job.node->is_inter;
  const bool same_side = std::find(job.own.begin(), job.own.end(), job.root) != job.own.end();
  is_root = job.root == job.me;
  gives = inter ? !same_side : true;
  absent = inter && same_side && !is_root;
  argument = job.node->index(job.root);
  if (inter && same_side) argument = is_root ? MPI_ROOT : MPI_PROC_NULL;
}

void perform(const std::shared_ptr<Job>& job, const Blocking& blocking, const Starting& start,
             const Starting& init) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (job->form == Form::persistent) OK(init(&request));
  for (int round = 0; round < job->rounds; ++round) {
    job->renew(static_cast<std::uint64_t>(round));
    if (round > 0) world->dawdle();
    if (job->form == Form::blocking) {
      OK(blocking());
    } else {
      OK(job->form == Form::nonblocking ? start(&request) : MPI_Start(&request));
      if (job->form == Form::nonblocking && round + 1 == job->rounds) break;
      wait_for(request);
    }
    job->check();
  }
  if (job->form == Form::persistent) OK(MPI_Request_free(&request));
  if (job->form != Form::nonblocking) return;
  const std::string what = world->doing;
  world->later(
      job->node, false,
      [job, request, what]() mutable {
        world->doing = "the end of " + what;
        wait_for(request);
        job->check();
      },
      job->delay);
}

namespace {

MPI_Comm comm_of(const std::shared_ptr<Job>& job) {
  return job->node->comm;
}

// Words of blocks, and where each begins.
struct Blocks {
  std::vector<int> words, places;
  int whole = 0;

  // One behind the other, or, where sizes differ, each with a gap behind it and the last one first.
  Blocks(const std::vector<int>& sizes, int gap) : words(sizes), places(sizes.size()) {
    for (std::size_t i = words.size(); i-- > 0;) {
      places[i] = gap == 0 ? static_cast<int>(i) * words[i] : whole;
      whole += words[i] + gap;
    }
  }
  std::vector<int> told(const Memory& side, const std::vector<int>& which) const {
    std::vector<int> scaled;
    for (const int one : which) scaled.push_back(side.scale(one));
    return scaled;
  }
  void tell(const Memory& side, std::vector<int>& counts, std::vector<int>& at) const {
    counts = told(side, words);
    at = told(side, places);
  }
};

// What this rank gives to each of the other side, or gets from it; `word_of`: how much.
template <class Words>
Blocks blocks_of(const Job& job, bool vary, const Words& words_of) {
  std::vector<int> sizes;
  for (const int peer : job.other) sizes.push_back(vary ? words_of(peer) : job.n);
  return {sizes, vary ? job.grain : 0};
}

void bcast(const std::shared_ptr<Job>& job) {
  const Rooted at(*job);
  job->room(0, job->n);
  job->fill = [&to = *job, at] {
    if (at.is_root || at.gives) to.put(to.want, 0, to.root, -1, to.n);
    if (at.is_root) to.out.all = to.want.all;
  };
  const Junk junk;
  void* data = at.absent ? junk.pointer(job->out.address()) : job->out.address();
  const int count = at.absent ? junk.count() : job->out.scale(job->n);
  const MPI_Datatype type = at.absent ? junk.type() : job->out.type();
  const MPI_Comm comm = comm_of(job);
  IN_ITS_FORM(job, Bcast, bcast, data, count, type, at.argument, comm);
}

// Gather and allgather: what each of the other side gives. In place the own block stands in `out`.
struct Gathered {
  Blocks blocks;
  int mine;
  bool takes, in_place;

  Gathered(Job& job, bool vary, int root, bool comes_here, bool is_in_place)
      : blocks(blocks_of(job, vary, [&](int from) { return job.varied(from, root); })),
        mine(vary ? job.varied(job.me, root) : job.n),
        takes(comes_here),
        in_place(is_in_place) {
    job.room(mine, takes ? blocks.whole : 0);
    blocks.tell(job.out, job.out_counts, job.out_places);
    job.fill = [&job, all = *this] { all.fill(job); };
  }
  void fill(Job& job) const {
    job.put(job.in, 0, job.me, 0, mine);
    for (std::size_t i = 0; takes && i < job.other.size(); ++i) {
      const int from = job.other[i];
      job.put(job.want, blocks.places[i], from, 0, blocks.words[i]);
      if (in_place && from == job.me) job.put(job.out, blocks.places[i], from, 0, mine);
    }
  }
};

void gather(const std::shared_ptr<Job>& job, bool vary) {
  const Rooted at(*job);
  const Junk junk;
  const bool in_place = job->in_place && at.is_root && !job->node->is_inter;
  const Gathered all(*job, vary, job->root, at.is_root, in_place);
  const bool sends = at.gives && !in_place;
  const void* from = in_place ? MPI_IN_PLACE : sends ? job->in.address() : junk.pointer();
  const int count = sends ? job->in.scale(all.mine) : junk.count();
  const MPI_Datatype type = sends ? job->in.type() : junk.type();
  void* to = at.is_root ? job->out.address() : junk.pointer();
  const MPI_Datatype to_type = at.is_root ? job->out.type() : junk.type();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    const int* counts = at.is_root ? job->out_counts.data() : junk.counts();
    const int* places = at.is_root ? job->out_places.data() : junk.counts();
    IN_ITS_FORM(job, Gatherv, gatherv, from, count, type, to, counts, places, to_type, at.argument,
                comm);
  } else {
    const int each = at.is_root ? job->out.scale(job->n) : junk.count();
    IN_ITS_FORM(job, Gather, gather, from, count, type, to, each, to_type, at.argument, comm);
  }
}

void scatter(const std::shared_ptr<Job>& job, bool vary) {
  const Rooted at(*job);
  const Junk junk;
  const Blocks blocks = blocks_of(*job, vary, [&](int to) { return job->varied(job->root, to); });
  const int mine = vary ? job->varied(job->root, job->me) : job->n;
  const bool in_place = job->in_place && at.is_root && !job->node->is_inter;
  const bool gets = at.gives && !in_place;
  job->room(at.is_root ? blocks.whole : 0, mine);
  job->fill = [&to = *job, at, gets, mine, blocks] {
    for (std::size_t i = 0; at.is_root && i < to.other.size(); ++i)
      to.put(to.in, blocks.places[i], to.root, to.other[i], blocks.words[i]);
    if (gets) to.put(to.want, 0, to.root, to.me, mine);
  };
  blocks.tell(job->in, job->in_counts, job->in_places);
  const void* from = at.is_root ? job->in.address() : junk.pointer();
  const MPI_Datatype from_type = at.is_root ? job->in.type() : junk.type();
  void* to = in_place ? MPI_IN_PLACE : gets ? job->out.address() : junk.pointer();
  const int count = gets ? job->out.scale(mine) : junk.count();
  const MPI_Datatype type = gets ? job->out.type() : junk.type();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    const int* counts = at.is_root ? job->in_counts.data() : junk.counts();
    const int* places = at.is_root ? job->in_places.data() : junk.counts();
    IN_ITS_FORM(job, Scatterv, scatterv, from, counts, places, from_type, to, count, type,
                at.argument, comm);
  } else {
    const int each = at.is_root ? job->in.scale(job->n) : junk.count();
    IN_ITS_FORM(job, Scatter, scatter, from, each, from_type, to, count, type, at.argument, comm);
  }
}

void allgather(const std::shared_ptr<Job>& job, bool vary) {
  const Junk junk;
  const bool in_place = job->in_place && !job->node->is_inter;
  const Gathered all(*job, vary, 0, true, in_place);
  const void* from = in_place ? MPI_IN_PLACE : job->in.address();
  const int count = in_place ? junk.count() : job->in.scale(all.mine);
  const MPI_Datatype type = in_place ? junk.type() : job->in.type();
  const MPI_Datatype own = job->out.type();
  void* to = job->out.address();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    IN_ITS_FORM(job, Allgatherv, allgatherv, from, count, type, to, job->out_counts.data(),
                job->out_places.data(), own, comm);
  } else {
    const int each = job->out.scale(job->n);
    IN_ITS_FORM(job, Allgather, allgather, from, count, type, to, each, own, comm);
  }
}

// Blocks of alltoall, alltoallv and alltoallw; in place what is sent has the places of what comes.
struct Exchanged {
  Blocks sent, got;
  bool in_place;

  Exchanged(Job& job, bool vary, bool is_in_place)
      : sent(blocks_of(
            job, vary,
            [&](int peer) { return is_in_place ? between(job, peer) : job.varied(job.me, peer); })),
        got(blocks_of(
            job, vary,
            [&](int peer) { return is_in_place ? between(job, peer) : job.varied(peer, job.me); })),
        in_place(is_in_place) {
    job.room(sent.whole, got.whole);
    job.fill = [&job, all = *this] { all.fill(job); };
  }
  static int between(const Job& job, int peer) {
    return job.varied(std::min(job.me, peer), std::max(job.me, peer));
  }
  void fill(Job& job) const {
    for (std::size_t i = 0; i < job.other.size(); ++i) {
      const int peer = job.other[i];
      job.put(job.in, sent.places[i], job.me, peer, sent.words[i]);
      job.put(job.want, got.places[i], peer, job.me, got.words[i]);
      if (in_place) job.put(job.out, got.places[i], job.me, peer, got.words[i]);
    }
  }
};

void alltoall(const std::shared_ptr<Job>& job, bool vary) {
  const Junk junk;
  const bool in_place = job->in_place && !job->node->is_inter;
  const Exchanged all(*job, vary, in_place);
  all.sent.tell(job->in, job->in_counts, job->in_places);
  all.got.tell(job->out, job->out_counts, job->out_places);
  const void* from = in_place ? MPI_IN_PLACE : job->in.address();
  const MPI_Datatype type = in_place ? junk.type() : job->in.type();
  const MPI_Datatype own = job->out.type();
  void* to = job->out.address();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    const int* counts = in_place ? junk.counts() : job->in_counts.data();
    const int* places = in_place ? junk.counts() : job->in_places.data();
    IN_ITS_FORM(job, Alltoallv, alltoallv, from, counts, places, type, to, job->out_counts.data(),
                job->out_places.data(), own, comm);
  } else {
    const int each = job->out.scale(job->n);
    const int count = in_place ? junk.count() : job->in.scale(job->n);
    IN_ITS_FORM(job, Alltoall, alltoall, from, count, type, to, each, own, comm);
  }
}

// Every pair has types of its own: of words or bytes, as the pair says.
void tell_typed(const Job& job, const Blocks& blocks, Memory& side, std::vector<int>& counts,
                std::vector<int>& places, std::vector<MPI_Datatype>& types) {
  for (std::size_t i = 0; i < job.other.size(); ++i) {
    const bool bytes = (job.me + job.other[i]) % 2 == 0;
    types.push_back(side.type(bytes));
    counts.push_back(side.scale(blocks.words[i], bytes));
    places.push_back(side.bytes_at(blocks.places[i]));
  }
}

void alltoallw(const std::shared_ptr<Job>& job) {
  const Junk junk;
  const bool in_place = job->in_place && !job->node->is_inter;
  const Exchanged all(*job, true, in_place);
  tell_typed(*job, all.sent, job->in, job->in_counts, job->in_places, job->in_types);
  tell_typed(*job, all.got, job->out, job->out_counts, job->out_places, job->out_types);
  const void* from = in_place ? MPI_IN_PLACE : job->in.address();
  const int* counts = in_place ? junk.counts() : job->in_counts.data();
  const int* places = in_place ? junk.counts() : job->in_places.data();
  const MPI_Datatype* types = in_place ? junk.types() : job->in_types.data();
  const MPI_Comm comm = comm_of(job);
  IN_ITS_FORM(job, Alltoallw, alltoallw, from, counts, places, types, job->out.address(),
              job->out_counts.data(), job->out_places.data(), job->out_types.data(), comm);
}

}  // namespace

void move_to_or_from_root(const std::shared_ptr<Job>& job, int which) {
  if (which == 0) return bcast(job);
  if (which <= 2) return gather(job, which == 2);
  scatter(job, which == 4);
}

void move_among_all(const std::shared_ptr<Job>& job, int which) {
  if (which <= 1) return allgather(job, which == 1);
  if (which <= 3) return alltoall(job, which == 3);
  alltoallw(job);
}

}  // namespace program

// Collectives that move data, in all forms, against what every rank can work out by itself.
#include "job.h"

namespace program {

void Job::check() const {
  const auto end = out.begin() + static_cast<std::ptrdiff_t>(std::min(checked, out.size()));
  const auto bad = std::mismatch(out.begin(), end, want.begin()).first;
  if (bad == end) return;
  const auto at = static_cast<std::size_t>(bad - out.begin());
  fail(__FILE__, __LINE__,
       "word " + std::to_string(at) + " of " + std::to_string(out.size()) + " is " +
           std::to_string(*bad) + ", not " + std::to_string(want[at]) + "; form " +
           std::to_string(static_cast<int>(form)) + ", communicator " + std::to_string(node->id));
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
  if (job->form == Form::blocking) {
    OK(blocking());
    job->check();
  } else if (job->form == Form::nonblocking) {
    OK(start(&request));
    const std::string what = world->doing;
    world->later(
        job->node, false,
        [job, request, what]() mutable {
          world->doing = "the end of " + what;
          wait_for(request);
          job->check();
        },
        job->delay);
  } else {
    OK(init(&request));
    const std::vector<std::uint32_t> fresh = job->out;
    for (int round = 0; round < job->rounds; ++round) {
      job->out = fresh;
      world->dawdle();
      OK(MPI_Start(&request));
      wait_for(request);
      job->check();
    }
    OK(MPI_Request_free(&request));
  }
}

namespace {

MPI_Comm comm_of(const std::shared_ptr<Job>& job) {
  return job->node->comm;
}

// How many words `from` has for `to` in the forms that let it differ.
int varied(const Job& job, int from, int to) {
  return static_cast<int>(mix(job.id, static_cast<std::uint64_t>(from * 131 + to)) %
                          as_size(job.n + 1));
}

// Places of blocks, each with a gap behind it, the last one first.
int lay_out(const std::vector<int>& words, std::vector<int>& places) {
  int end = 0;
  places.assign(words.size(), 0);
  for (std::size_t i = words.size(); i-- > 0;) {
    places[i] = end;
    end += words[i] + 1;
  }
  return end;
}

void scale_all(const Job& job, std::vector<int>& values) {
  for (int& value : values) value = job.scale(value);
}

void bcast(const std::shared_ptr<Job>& job) {
  const Rooted at(*job);
  job->room(0, job->n);
  if (at.is_root || at.gives) job->put(job->want, 0, job->root, -1, job->n);
  if (at.is_root) job->out = job->want;
  const Junk junk;
  void* data = at.absent ? junk.pointer(job->out.data()) : job->out.data();
  const int count = at.absent ? junk.count() : job->scale(job->n);
  const MPI_Datatype type = at.absent ? junk.type() : job->type();
  const MPI_Comm comm = comm_of(job);
  IN_ITS_FORM(job, Bcast, bcast, data, count, type, at.argument, comm);
}

// Gather and gatherv; the varied one leaves gaps.
void gather(const std::shared_ptr<Job>& job, bool vary) {
  const Rooted at(*job);
  const Junk junk;
  std::vector<int> words;
  for (const int from : job->other) words.push_back(vary ? varied(*job, from, 0) : job->n);
  const int mine = vary ? varied(*job, job->me, 0) : job->n;
  const int whole = vary ? lay_out(words, job->out_places) : job->n * job->q();
  job->room(mine, at.is_root ? whole : 0);
  job->put(job->in, 0, job->me, 0, mine);
  const bool in_place = job->in_place && at.is_root && !job->node->is_inter;
  for (int i = 0; at.is_root && i < job->q(); ++i) {
    const int place = vary ? job->out_places[as_size(i)] : i * job->n;
    job->put(job->want, place, job->other[as_size(i)], 0, words[as_size(i)]);
    if (in_place && job->other[as_size(i)] == job->me)
      job->put(job->out, place, job->me, 0, words[as_size(i)]);
  }
  job->out_counts = words;
  scale_all(*job, job->out_counts);
  scale_all(*job, job->out_places);
  const bool sends = at.gives && !in_place;
  const void* from = in_place ? MPI_IN_PLACE : sends ? job->in.data() : junk.pointer();
  const int count = sends ? job->scale(mine) : junk.count();
  const MPI_Datatype type = sends ? job->type() : junk.type();
  void* to = at.is_root ? job->out.data() : junk.pointer();
  const MPI_Datatype to_type = at.is_root ? job->type() : junk.type();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    const int* counts = at.is_root ? job->out_counts.data() : junk.counts();
    const int* places = at.is_root ? job->out_places.data() : junk.counts();
    IN_ITS_FORM(job, Gatherv, gatherv, from, count, type, to, counts, places, to_type, at.argument,
                comm);
  } else {
    const int each = at.is_root ? job->scale(job->n) : junk.count();
    IN_ITS_FORM(job, Gather, gather, from, count, type, to, each, to_type, at.argument, comm);
  }
}

void scatter(const std::shared_ptr<Job>& job, bool vary) {
  const Rooted at(*job);
  const Junk junk;
  std::vector<int> words;
  for (const int to : job->other) words.push_back(vary ? varied(*job, 0, to) : job->n);
  const int mine = vary ? varied(*job, 0, job->me) : job->n;
  const int whole = vary ? lay_out(words, job->in_places) : job->n * job->q();
  job->room(at.is_root ? whole : 0, mine);
  for (int i = 0; at.is_root && i < job->q(); ++i)
    job->put(job->in, vary ? job->in_places[as_size(i)] : i * job->n, job->root,
             job->other[as_size(i)], words[as_size(i)]);
  const bool in_place = job->in_place && at.is_root && !job->node->is_inter;
  const bool gets = at.gives && !in_place;
  if (gets) job->put(job->want, 0, job->root, job->me, mine);
  job->in_counts = words;
  scale_all(*job, job->in_counts);
  scale_all(*job, job->in_places);
  const void* from = at.is_root ? job->in.data() : junk.pointer();
  const MPI_Datatype from_type = at.is_root ? job->type() : junk.type();
  void* to = in_place ? MPI_IN_PLACE : gets ? job->out.data() : junk.pointer();
  const int count = gets ? job->scale(mine) : junk.count();
  const MPI_Datatype type = gets ? job->type() : junk.type();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    const int* counts = at.is_root ? job->in_counts.data() : junk.counts();
    const int* places = at.is_root ? job->in_places.data() : junk.counts();
    IN_ITS_FORM(job, Scatterv, scatterv, from, counts, places, from_type, to, count, type,
                at.argument, comm);
  } else {
    const int each = at.is_root ? job->scale(job->n) : junk.count();
    IN_ITS_FORM(job, Scatter, scatter, from, each, from_type, to, count, type, at.argument, comm);
  }
}

void allgather(const std::shared_ptr<Job>& job, bool vary) {
  const Junk junk;
  std::vector<int> words;
  for (const int from : job->other) words.push_back(vary ? varied(*job, from, 0) : job->n);
  const int mine = vary ? varied(*job, job->me, 0) : job->n;
  const int whole = vary ? lay_out(words, job->out_places) : job->n * job->q();
  job->room(mine, whole);
  job->put(job->in, 0, job->me, 0, mine);
  const bool in_place = job->in_place && !job->node->is_inter;
  for (int i = 0; i < job->q(); ++i) {
    const int place = vary ? job->out_places[as_size(i)] : i * job->n;
    job->put(job->want, place, job->other[as_size(i)], 0, words[as_size(i)]);
    if (in_place && job->other[as_size(i)] == job->me) job->put(job->out, place, job->me, 0, mine);
  }
  job->out_counts = words;
  scale_all(*job, job->out_counts);
  scale_all(*job, job->out_places);
  const void* from = in_place ? MPI_IN_PLACE : job->in.data();
  const int count = in_place ? junk.count() : job->scale(mine);
  const MPI_Datatype type = in_place ? junk.type() : job->type();
  const MPI_Datatype own = job->type();
  void* to = job->out.data();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    IN_ITS_FORM(job, Allgatherv, allgatherv, from, count, type, to, job->out_counts.data(),
                job->out_places.data(), own, comm);
  } else {
    const int each = job->scale(job->n);
    IN_ITS_FORM(job, Allgather, allgather, from, count, type, to, each, own, comm);
  }
}

// Blocks of alltoall, alltoallv and alltoallw; in place what is sent has the places of what comes.
void lay_out_exchange(Job& job, bool vary, bool in_place) {
  std::vector<int> sent, got;
  for (const int peer : job.other) {
    const int least = std::min(job.me, peer), most = std::max(job.me, peer);
    sent.push_back(!vary ? job.n : in_place ? varied(job, least, most) : varied(job, job.me, peer));
    got.push_back(!vary ? job.n : in_place ? varied(job, least, most) : varied(job, peer, job.me));
  }
  const int whole_sent = lay_out(sent, job.in_places);
  const int whole_got = lay_out(got, job.out_places);
  if (!vary)
    for (int i = 0; i < job.q(); ++i)
      job.in_places[as_size(i)] = job.out_places[as_size(i)] = i * job.n;
  job.room(whole_sent, whole_got);
  for (std::size_t i = 0; i < job.other.size(); ++i) {
    const int peer = job.other[i];
    job.put(job.in, job.in_places[i], job.me, peer, sent[i]);
    job.put(job.want, job.out_places[i], peer, job.me, got[i]);
    if (in_place) job.put(job.out, job.out_places[i], job.me, peer, got[i]);
  }
  job.in_counts = sent;
  job.out_counts = got;
}

void alltoall(const std::shared_ptr<Job>& job, bool vary) {
  const Junk junk;
  const bool in_place = job->in_place && !job->node->is_inter;
  lay_out_exchange(*job, vary, in_place);
  for (auto* values : {&job->in_counts, &job->in_places, &job->out_counts, &job->out_places})
    scale_all(*job, *values);
  const void* from = in_place ? MPI_IN_PLACE : job->in.data();
  const MPI_Datatype type = in_place ? junk.type() : job->type();
  const MPI_Datatype own = job->type();
  void* to = job->out.data();
  const MPI_Comm comm = comm_of(job);
  if (vary) {
    const int* counts = in_place ? junk.counts() : job->in_counts.data();
    const int* places = in_place ? junk.counts() : job->in_places.data();
    IN_ITS_FORM(job, Alltoallv, alltoallv, from, counts, places, type, to, job->out_counts.data(),
                job->out_places.data(), own, comm);
  } else {
    const int each = job->scale(job->n);
    const int count = in_place ? junk.count() : each;
    IN_ITS_FORM(job, Alltoall, alltoall, from, count, type, to, each, own, comm);
  }
}

// Every pair has a type of its own: words or bytes, as the pair says.
void alltoallw(const std::shared_ptr<Job>& job) {
  const Junk junk;
  const bool in_place = job->in_place && !job->node->is_inter;
  lay_out_exchange(*job, true, in_place);
  for (std::size_t i = 0; i < job->other.size(); ++i) {
    const bool bytes = (job->me + job->other[i]) % 2 == 0;
    job->in_types.push_back(bytes ? MPI_BYTE : MPI_UINT32_T);
    job->out_types.push_back(job->in_types.back());
    job->in_places[i] *= 4;
    job->out_places[i] *= 4;
    if (!bytes) continue;
    job->in_counts[i] *= 4;
    job->out_counts[i] *= 4;
  }
  const void* from = in_place ? MPI_IN_PLACE : job->in.data();
  const int* counts = in_place ? junk.counts() : job->in_counts.data();
  const int* places = in_place ? junk.counts() : job->in_places.data();
  const MPI_Datatype* types = in_place ? junk.types() : job->in_types.data();
  const MPI_Comm comm = comm_of(job);
  IN_ITS_FORM(job, Alltoallw, alltoallw, from, counts, places, types, job->out.data(),
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

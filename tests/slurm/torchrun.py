"""torchrun's lines in job scripts, as PyTorch's tutorials write them: one world each, of the size they
say. A prun that srun starts several times is a mistake that is named."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = f"{HERE}/../nodes/worker.py"
HEAD = "head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)\n"
PORT = "port=$((20000 + SLURM_JOB_ID))\n"


def workers(said):
    """Rank, local rank, sizes, number of the node, restarts: what each worker printed, without the port."""
    return sorted(" ".join(line.split()[1:7] + line.split()[8:]) for line in said.splitlines()
                  if line.startswith("worker "))


def world(nodes, each):
    size = nodes * each
    return sorted(f"{rank} {rank % each} {size} {each} {rank // each} 0" for rank in range(size))


def expect(suite, what, done, wanted):
    got = workers(done.said)
    problems = [f"status {done.returncode}"] if done.returncode != 0 else []
    problems += [f"workers {got}, not {wanted}"] if got != wanted else []
    suite.judge(what, problems, done.said)


def run(suite):
    two = world(2, 2)
    lines = {
        "srun torchrun, c10d":
            ("srun torchrun --nnodes 2 --nproc_per_node 2 --rdzv_id $SLURM_JOB_ID --rdzv_backend c10d "
             "--rdzv_endpoint $head:$port", two),
        "srun torchrun, static nodes":
            ("srun bash -c \"torchrun --nnodes 2 --nproc_per_node 2 --node_rank \\$SLURM_NODEID --master_addr $head "
             f"--master_port $port {WORKER}\"; exit $?; true", two),
        "srun torchrun, 1 to 2 nodes":
            ("srun torchrun --nnodes 1:2 --nproc_per_node 2 --rdzv_id 7 --rdzv_backend c10d "
             "--rdzv_endpoint $head:$port", two),
        "srun torch.distributed.launch":
            ("srun torch.distributed.launch --nnodes 2 --nproc_per_node 2 --use_env --rdzv_id 7 --rdzv_backend c10d "
             "--rdzv_endpoint $head:$port", two),
        "torchrun of one node in a job of two": ("torchrun --nproc_per_node 2", world(1, 2)),
        "torchrun --standalone in a job of two": ("torchrun --standalone --nproc_per_node 2", world(1, 2)),
        "srun -N1 -n1 torchrun --standalone": ("srun -N1 -n1 torchrun --standalone --nproc_per_node 2", world(1, 2)),
    }
    for what, (line, wanted) in lines.items():
        expect(suite, what, suite.batch("-N2 --ntasks-per-node=1", f"{HEAD}{PORT}{line} {WORKER}"), wanted)
    expect(suite, "torchrun -H takes the job's hosts", suite.batch(
        "-N2 --ntasks-per-node=2", f"{HEAD}torchrun -H +n0,+n1 --nproc_per_node 2 --nnodes 2 {WORKER}"), two)
    early = suite.batch("-N2 --ntasks-per-node=1", HEAD + PORT + "srun torchrun --nnodes 2 --node_rank $SLURM_NODEID "
                        f"--rdzv_conf join_timeout=20 --master_addr $head --master_port $port {WORKER}")
    suite.check("a number of the node that was filled in too early", early, 209, "node 1 of the Slurm step says "
                "--node-rank 0", "srun bash -c")
    several = suite.batch("-N2 --ntasks-per-node=1", f"srun {suite.prun} echo a rank")
    suite.check("srun prun on several tasks", several, 2, "srun has started 2 of this prun", "without srun",
                without=["a rank"])
    several = suite.batch("-N2 --ntasks-per-node=1", f"srun {suite.prun} --launcher fork -np 1 echo a rank")
    suite.check("srun prun with a job of its own for each", several, 0, "a rank\na rank\n")
    one = suite.batch("-N2 --ntasks-per-node=1", f"srun -N1 -n1 --overlap {suite.prun} -N 1 sh -c 'echo $RANK of $WORLD_SIZE'")
    suite.check("srun -n1 prun takes the job's hosts", one, 0, "0 of 2\n", "1 of 2\n")

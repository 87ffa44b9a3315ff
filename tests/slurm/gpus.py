"""GPUs, asked of Slurm in every way it has: the daemons' steps get those that the job has on their hosts,
and ranks their own where each task was to have some."""


def run(suite):
    gpus = suite.cluster.GPUS
    show = ["sh", "-c", "echo rank $RANK sees ${CUDA_VISIBLE_DEVICES:-none} of ${SLURM_GPUS:-no}"]
    together = [f"rank {rank} sees 0,1 of" for rank in range(4)]
    own = [f"rank {rank} sees {rank % gpus} of" for rank in range(4)]
    for options, words in {
        "--ntasks-per-node=2 --gpus=4": together,
        "--ntasks-per-node=2 --gpus-per-node=2": together,
        "--ntasks-per-node=2 --gres=gpu:2": together,
        "-n4 --ntasks-per-gpu=1": own,
        "-n4 --gpus=4 --ntasks-per-gpu=1": own,
        "-n4 --gpus-per-task=1": own,
    }.items():
        suite.check(f"salloc {options}", suite.salloc(f"-N2 {options}", suite.prun, *show), 0, *words)
    suite.check("a job script with --gpus", suite.batch("-N2 --ntasks-per-node=2 --gpus=4", f"{suite.prun} {show[0]} "
                f"-c '{show[2]}'"), 0, *[f"{word} 4\n" for word in together])
    one = suite.salloc("-N2 -n3 --gpus-per-task=1", suite.prun, *show)
    suite.check("one GPU here, two there", one, 0, "rank 0 sees 0 of", "rank 1 sees 1 of", "rank 2 sees 0 of")
    mine = suite.salloc("-N2 --ntasks-per-node=1 --gpus=4", suite.prun, "--gpus-per-task", "2", *show)
    suite.check("prun's own --gpus-per-task", mine, 0, "rank 0 sees 0,1 of", "rank 1 sees 0,1 of")
    refused = suite.salloc("-N2 --ntasks-per-node=1", "sh", "-c", f"SLURM_JOB_ID=999999 SLURM_JOBID=999999 {suite.prun} true")
    suite.check("srun's own words, and a line to try", refused, 201, "srun", "check that 'srun --overlap -N1 -n1 -w ")

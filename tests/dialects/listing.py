"""The options of other launchers, read from what they print of themselves.

Each reader gives rows of an option: its spellings with their dashes, and how many words it takes
(None: the text does not say)."""
import os
import re
import shutil
import subprocess

LIMIT_S = 60
PEERS = os.environ.get("INTEROP_PEERS", "/nonexistent")
SLURM_LEAST = "ClusterName=none\nSlurmctldHost=localhost\n"


def said(*command, **variables):
    """What a command prints; empty where it is not there or fails to begin."""
    if not shutil.which(command[0]):
        return ""
    env = dict(os.environ, COLUMNS="200", MANWIDTH="200", LC_ALL="C.UTF-8", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **variables)
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=LIMIT_S,
                          env=env)
    return done.stdout


def words_in(text):
    """The words that follow a spelling: <arg0> <arg1>, {name} {value}, =list; [=list] need not be there."""
    without = re.sub(r"\[[^]]*\]", "", text)
    marked = len(re.findall(r"<[^>]*>|\{[^}]*\}", without))
    return marked if marked else int("=" in without)


def spellings(text):
    return re.findall(r"(?<![\w<=-])--?[A-Za-z?][\w-]*", text)


def merged(rows):
    """Rows that share a spelling are one; how many words it takes is the first row's to say."""
    found = []
    for names, words in rows:
        same = [row for row in found if set(row[0]) & set(names)]
        if not same:
            found.append([list(dict.fromkeys(names)), words])
            continue
        same[0][0] = list(dict.fromkeys(same[0][0] + names))
        if same[0][1] is None:
            same[0][1] = words
    return [(names, words) for names, words in found]


def from_manual(page):
    """Heads of paragraphs of a manual page that begin with a dash."""
    rows = []
    for line in said("man", "-P", "cat", page).splitlines():
        match = re.match(r" {7}(-\S.*)", line)
        if not match:
            continue
        head = re.split(r"\s{3,}", match[1])[0]
        names = spellings(re.split(r"\s<|=|\s\[", head)[0])
        if names and re.fullmatch(r"-[^.]*", head):
            rows.append((names, words_in(head)))
    return rows


def openmpi4(program):
    """--help TOPIC for each topic that --help names, and the manual."""
    topics = re.findall(r"(\w+) \(|, (\w+)(?=[,. ])", said(program, "--help").partition("categories exist:")[2])
    rows = []
    for topic in ["all", *(first or second for first, second in topics)]:
        for line in said(program, "--help", topic).splitlines():
            head = re.match(r"\s{0,3}(-\S+)((?: <\w+>)*)", line)
            if head:
                rows.append((head[1].split("|"), words_in(head[2])))
    return merged(rows + from_manual(os.path.basename(program)))


def prrte(program):
    """The table of --help; heads go on over several lines of its left column."""
    prefix = os.path.dirname(os.path.dirname(program))
    rows, head = [], ""
    for line in said(program, "--help", OPAL_PREFIX=prefix, PRTE_PREFIX=prefix, PMIX_PREFIX=prefix).splitlines():
        if not line.startswith("| ") and head:
            names = spellings(head)
            if names:
                rows.append((names, words_in(head.replace("=", " "))))
            head = ""
        elif line.startswith("| "):
            left = line.split("|")
            left = "|".join(left[1:-2]).strip()
            head += left if head.endswith("-") or not head else " " + left
    return merged(rows)


def hydra(program):
    rows = []
    for line in said(program, "--help").splitlines():
        head = re.match(r"\s+(-[\w/-]+)((?: \{[^}]*\})*)\s", line + " ")
        if head:
            rows += [([name], words_in(head[2]) or None) for name in ([head[1]] if head[1] == "-n/-np" else head[1].split("/"))]
    return merged([(names if names != ["-n/-np"] else ["-n", "-np"], words) for names, words in rows])


def slurm(program, folder):
    with open(f"{folder}/slurm.conf", "w") as file:
        file.write(SLURM_LEAST)
    rows = []
    for line in said(program, "--help", SLURM_CONF=f"{folder}/slurm.conf").splitlines():
        head = re.match(r"\s{1,6}(-\w,?\s+)?(--[\w-]+)(\S*)", line)
        if head:
            rows.append((spellings(f"{head[1] or ''} {head[2]}"), min(1, words_in(head[3]))))
    return merged(rows + from_manual("srun"))


def torch_says(program, *command):
    """torch's wheel may need the stubs of the CUDA libraries that tests/torch makes."""
    place = os.path.dirname(os.path.dirname(os.path.dirname(program)))
    return said(*command, LD_LIBRARY_PATH=f"{place}/stubs:{os.environ.get('LD_LIBRARY_PATH', '')}")


def argparse(program):
    rows = []
    for line in torch_says(program, program, "--help").splitlines():
        head = re.match(r"  (-\S.*)", line)
        if head:
            head = re.split(r"\s{2,}", head[1])[0]
            rows.append((spellings(head), int(bool(re.search(r" [A-Z_{]", head)))))
    return merged(rows)


def launchers(folder, build):
    """Name of the dialect, the name prun is called by, where the launcher is, its reader, its manual's page."""
    def there(*programs):
        return next((path for program in programs if (path := shutil.which(program))), None)

    def of_slurm(program):
        return slurm(program, folder)
    made = [f"{build}/torch/env/bin/torchrun"] if os.path.exists(f"{build}/torch/made") else []
    intel = os.environ.get("I_MPI_ROOT", "/nonexistent")
    return (("Open MPI", "mpirun", there("mpirun.openmpi"), openmpi4, "mpirun.openmpi"),
            ("Open MPI's PRRTE", "mpirun", there(f"{PEERS}/openmpi/bin/prterun"), prrte, None),
            ("MPICH", "mpiexec.hydra", there("mpiexec.mpich"), hydra, None),
            ("MPICH", "mpiexec.hydra", there(f"{PEERS}/mpich/bin/mpiexec.hydra"), hydra, None),
            ("Intel MPI", "mpiexec.hydra", there(f"{intel}/bin/mpiexec.hydra"), hydra, None),
            ("Slurm", "srun", there("srun"), of_slurm, "srun"),
            ("PyTorch", "torchrun", there(*made, "torchrun"), argparse, None))


def version(program, folder):
    """The number that a launcher gives itself."""
    prefix = os.path.dirname(os.path.dirname(program))
    if os.path.basename(program) == "torchrun":
        return torch_says(program, f"{prefix}/bin/python3", "-c", "import torch; print(torch.__version__)").strip()
    text = said(program, "--version", OPAL_PREFIX=prefix, PRTE_PREFIX=prefix, PMIX_PREFIX=prefix,
                SLURM_CONF=f"{folder}/slurm.conf")
    number = re.search(r"\d+\.\d+[\w.]*", text)
    return number[0] if number else ""

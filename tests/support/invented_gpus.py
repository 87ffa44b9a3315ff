"""Kernel drivers' files of GPUs that are not there: a command runs where /proc/driver and /dev tell of two GPUs, as
NVIDIA's driver writes it. A mount namespace of its own has them, so nothing else sees them."""

FORBIDDEN = 77  # no such namespace here
# Only /proc/driver/nvidia: no program could open the GPUs.
_TOLD = r"""
mount -t tmpfs none /proc/driver || exit 77
for gpu in 0 1; do
  mkdir -p /proc/driver/nvidia/gpus/0000:1$gpu:00.0
  printf 'Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-%s\nDevice Minor: \t %s\n' $gpu $gpu \
    > /proc/driver/nvidia/gpus/0000:1$gpu:00.0/information
done
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Sat Jan 25' > /proc/driver/nvidia/version
"""
# An RDMA device beside them, with which the driver works by a module of its own, or by open modules.
_RDMA = r"""
mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/mlx5_0 || exit 77
"""
PEERMEM = "mount -t tmpfs none /sys/module && mkdir /sys/module/nvidia_peermem || exit 77\n"
OPEN = ("echo 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build' "
        "> /proc/driver/nvidia/version\n")
# A /dev that has their files, too. It is laid out in $0, an empty folder.
_OPENED = r"""
mount -t tmpfs none "$0" && mkdir "$0/pts" "$0/shm" && ln -s /proc/self/fd "$0/fd" || exit 77
for name in null zero full urandom random ptmx tty pts shm; do
  [ -e "$0/$name" ] || touch "$0/$name"
  mount --rbind /dev/$name "$0/$name" || exit 77
done
touch "$0/nvidia0" "$0/nvidia1"
mount --rbind "$0" /dev || exit 77
"""
_APART = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


def told(command):
    """COMMAND where the driver tells of two GPUs."""
    return [*_APART, _TOLD + 'exec "$@"', "sh", *command]


def beside_rdma(command, modules=""):
    """Likewise, and of an RDMA device; MODULES: PEERMEM, OPEN, or none that lets it reach GPU memory."""
    return [*_APART, _TOLD + _RDMA + modules + 'exec "$@"', "sh", *command]


def opened(command, folder):
    """COMMAND where they can be used, too; FOLDER is empty and stays so."""
    return [*_APART, _TOLD + _OPENED + 'exec "$@"', folder, *command]

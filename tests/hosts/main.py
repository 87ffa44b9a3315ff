"""What a training script does first: rank 0 listens at MASTER_ADDR:MASTER_PORT, all others come."""
import os
import socket
import time

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
me = f"{rank} {os.environ['LOCAL_RANK']} {os.environ['OMPI_COMM_WORLD_SIZE']} {socket.gethostname()}"
if rank == 0:
    seen = [me]
    with socket.create_server(master) as server:
        for _ in range(size - 1):
            peer, _ = server.accept()
            with peer:
                seen.append(peer.makefile().readline().strip())
    print(f"met: {'; '.join(sorted(seen))}")
else:
    for attempt in range(600):
        try:
            with socket.create_connection(master, timeout=5) as peer:
                peer.sendall(f"{me}\n".encode())
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit(f"rank {rank} never reached {master}")

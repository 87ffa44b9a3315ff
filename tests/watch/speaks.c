/* Writes numbered lines as fast as it can, on both streams: speaks RANK LINES. Each line carries a sum over
   its own text, so that a lost, torn or mixed one is seen. No MPI: nothing but output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned sum_of(const char* text) {
  unsigned sum = 2166136261U;
  for (; *text; ++text) sum = (sum ^ (unsigned char)*text) * 16777619U;
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* rank = getenv("TUTTI_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  if (rank == NULL) rank = getenv("RANK");
  if (rank == NULL) return 3;
  /* Whole lines, also where both streams are one pipe. */
  setvbuf(stdout, NULL, _IOLBF, 8192);
  long lines = atol(argv[1]);
  char text[600], padding[500];
  for (long i = 0; i < lines; ++i) {
    size_t width = (size_t)((i * 37 + atoi(rank) * 11) % 400);
    memset(padding, 'a' + (int)(i % 26), width);
    padding[width] = 0;
    for (int stream = 1; stream <= 2; ++stream) {
      FILE* to = stream == 1 ? stdout : stderr;
      snprintf(text, sizeof text, "%s %d %ld %s", rank, stream, i, padding);
      fprintf(to, "%s %08x\n", text, sum_of(text));
    }
  }
  return 0;
}

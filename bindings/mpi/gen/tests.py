"""A C program that takes the typed address of every function, in both names, and compares.

It compiles only when mpi.h declares each function, links only when the library exports it, and
its run says whether MPI_X and PMPI_X are the same code when nobody intercepts.
"""
from table import declare

OPENING = """\
/* Compile-and-link test of every function of the interface table. Generated; do not edit. */
#include <mpi.h>
#include <stdio.h>

typedef void (*any_function)(void);
struct pair {
  const char *name;
  any_function plain, profiling;
};

"""
CLOSING = """
int main(void) {
  int wrong = 0;
  unsigned long i, n = sizeof pairs / sizeof pairs[0];
  for (i = 0; i < n; ++i) {
    if (pairs[i].plain != 0 && pairs[i].plain == pairs[i].profiling) continue;
    printf("%s and its profiling name differ\\n", pairs[i].name);
    ++wrong;
  }
  printf("%lu functions, %d wrong\\n", n, wrong);
  return wrong != 0;
}
"""


def typed(function, large, number):
    args = ", ".join(declare(p.c_type(large), "") if p.kind != "VARARGS" else "..."
                     for p in function.visible(large))
    name = function.c_name(large)
    yield "static %s (*const plain_%d)(%s) = %s;" % (function.returns, number, args or "void", name)
    yield "static %s (*const profiling_%d)(%s) = P%s;" % (
        function.returns, number, args or "void", name)


def write(table):
    lines, pairs, number = [OPENING], [], 0
    for function in table.functions:
        for large in function.forms():
            lines.extend(typed(function, large, number))
            pairs.append('  pairs[%d].name = "%s"; pairs[%d].plain = (any_function)plain_%d; '
                         'pairs[%d].profiling = (any_function)profiling_%d;'
                         % (number, function.c_name(large), number, number, number, number))
            number += 1
    lines.append("\nstatic struct pair pairs[%d];\n" % number)
    lines.append("static void fill(void) {")
    lines.extend(pairs)
    lines.append("}")
    lines.append(CLOSING.replace("  int wrong = 0;\n", "  int wrong = 0;\n", 1)
                 .replace("  for (i = 0", "  fill();\n  for (i = 0", 1))
    return "\n".join(lines)

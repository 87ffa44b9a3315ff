/* mpi-ext.h: what this library has beyond MPI 5.0. Names begin with MPIX_.
 *
 * Two floats of two bytes, as machine learning uses them: IEEE binary16 (_Float16 of C), and
 * bfloat16, the upper half of a float. MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX take them; each fold
 * of two values is computed in float and rounded once, to the nearest.
 */
#ifndef TUTTI_MPI_EXT_H
#define TUTTI_MPI_EXT_H

#include <mpi.h>

#define MPIX_C_FLOAT16 ((MPI_Datatype)0x0000024a)
#define MPIX_BFLOAT16 ((MPI_Datatype)0x0000024c)

#endif

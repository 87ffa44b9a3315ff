/* mpi-removed.h: what MPI 3.0 removed. With TUTTI_MPI1 defined (mpicc -mpi1), by what replaces it;
 * else whoever uses it is told that name. Part of mpi.h. */
#ifndef TUTTI_MPI_REMOVED_H
#define TUTTI_MPI_REMOVED_H

#if defined(TUTTI_MPI1)

#include <stdlib.h>

typedef MPI_Comm_errhandler_function MPI_Handler_function;

/* Bounds of a datatype, as entries of MPI_Type_struct: no datatypes anywhere else. */
#define MPI_LB ((MPI_Datatype)0x000003fc)
#define MPI_UB ((MPI_Datatype)0x000003fd)

/* What Fortran's constructors made: no datatype answers so. */
#define MPI_COMBINER_HVECTOR_INTEGER (-101)
#define MPI_COMBINER_HINDEXED_INTEGER (-102)
#define MPI_COMBINER_STRUCT_INTEGER (-103)

static __inline__ int MPI_Address(const void* location, MPI_Aint* address) {
  return MPI_Get_address(location, address);
}

static __inline__ int MPI_Errhandler_create(MPI_Handler_function* function,
                                            MPI_Errhandler* errhandler) {
  return MPI_Comm_create_errhandler(function, errhandler);
}

static __inline__ int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return MPI_Comm_set_errhandler(comm, errhandler);
}

static __inline__ int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return MPI_Comm_get_errhandler(comm, errhandler);
}

static __inline__ int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
  MPI_Aint lb;
  return MPI_Type_get_extent(datatype, &lb, extent);
}

static __inline__ int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) {
  MPI_Aint extent;
  return MPI_Type_get_extent(datatype, displacement, &extent);
}

static __inline__ int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) {
  MPI_Aint lb = 0, extent = 0;
  int code = MPI_Type_get_extent(datatype, &lb, &extent);
  if (code == MPI_SUCCESS) *displacement = lb + extent;
  return code;
}

static __inline__ int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride,
                                       MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

static __inline__ int MPI_Type_hindexed(int count, const int array_of_blocklengths[],
                                        const MPI_Aint array_of_displacements[],
                                        MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return MPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype,
                                  newtype);
}

/* The bounds, where they are given, become one entry more: an empty datatype that has them. */
static __inline__ int tutti_mpi1_bounded(int count, int* lengths, MPI_Aint* places,
                                         MPI_Datatype* types, const MPI_Aint* lowest,
                                         const MPI_Aint* highest, MPI_Datatype* newtype) {
  MPI_Datatype whole, nothing, bounds;
  MPI_Aint lb, ub, extent;
  int code = MPI_Type_create_struct(count, lengths, places, types, &whole);
  if (code != MPI_SUCCESS) return code;
  MPI_Type_get_extent(whole, &lb, &extent);
  MPI_Type_free(&whole);
  ub = highest != NULL ? *highest : lb + extent;
  if (lowest != NULL) lb = *lowest;
  MPI_Type_contiguous(0, MPI_BYTE, &nothing);
  code = MPI_Type_create_resized(nothing, lb, ub - lb, &bounds);
  MPI_Type_free(&nothing);
  if (code != MPI_SUCCESS) return code;
  lengths[count] = 1;
  places[count] = 0;
  types[count] = bounds;
  code = MPI_Type_create_struct(count + 1, lengths, places, types, newtype);
  MPI_Type_free(&bounds);
  return code;
}

static __inline__ int MPI_Type_struct(int count, const int array_of_blocklengths[],
                                      const MPI_Aint array_of_displacements[],
                                      const MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
  int i, rest = 0, code;
  const MPI_Aint *lowest = NULL, *highest = NULL;
  const size_t room = (size_t)(count > 0 ? count : 0) + 1;
  int* lengths = (int*)malloc(room * sizeof(int));
  MPI_Aint* places = (MPI_Aint*)malloc(room * sizeof(MPI_Aint));
  MPI_Datatype* types = (MPI_Datatype*)malloc(room * sizeof(MPI_Datatype));
  if (lengths != NULL && places != NULL && types != NULL) {
    for (i = 0; i < count; ++i) {
      const MPI_Aint* place = &array_of_displacements[i];
      if (array_of_types[i] == MPI_LB) {
        if (lowest == NULL || *place < *lowest) lowest = place;
      } else if (array_of_types[i] == MPI_UB) {
        if (highest == NULL || *place > *highest) highest = place;
      } else {
        lengths[rest] = array_of_blocklengths[i];
        places[rest] = *place;
        types[rest++] = array_of_types[i];
      }
    }
    if (lowest != NULL || highest != NULL)
      code = tutti_mpi1_bounded(rest, lengths, places, types, lowest, highest, newtype);
    else
      code = MPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements,
                                    array_of_types, newtype);
  } else {
    MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM);
    code = MPI_ERR_NO_MEM;
  }
  free(lengths);
  free(places);
  free(types);
  return code;
}

/* Programs of MPI-2 give the bounds to its successor. */
#define MPI_Type_create_struct MPI_Type_struct

#elif defined(__has_attribute)
#if __has_attribute(unavailable)

#define TUTTI_REMOVED(replacement) \
  __attribute__((                  \
      unavailable("removed in MPI 3.0; use " replacement ", or compile with mpicc -mpi1")))

typedef MPI_Comm_errhandler_function MPI_Handler_function
    TUTTI_REMOVED("MPI_Comm_errhandler_function");

/* A program that brings its own as a macro is left alone. */
#if defined(__cplusplus)
extern "C" {
#endif
#ifndef MPI_LB
extern MPI_Datatype MPI_LB TUTTI_REMOVED("MPI_Type_create_resized");
#endif
#ifndef MPI_UB
extern MPI_Datatype MPI_UB TUTTI_REMOVED("MPI_Type_create_resized");
#endif
#ifndef MPI_COMBINER_HVECTOR_INTEGER
extern int MPI_COMBINER_HVECTOR_INTEGER TUTTI_REMOVED("MPI_COMBINER_HVECTOR");
#endif
#ifndef MPI_COMBINER_HINDEXED_INTEGER
extern int MPI_COMBINER_HINDEXED_INTEGER TUTTI_REMOVED("MPI_COMBINER_HINDEXED");
#endif
#ifndef MPI_COMBINER_STRUCT_INTEGER
extern int MPI_COMBINER_STRUCT_INTEGER TUTTI_REMOVED("MPI_COMBINER_STRUCT");
#endif
#ifndef MPI_Address
int MPI_Address(void*, MPI_Aint*) TUTTI_REMOVED("MPI_Get_address");
#endif
#ifndef MPI_Errhandler_create
int MPI_Errhandler_create(MPI_Comm_errhandler_function*, MPI_Errhandler*)
    TUTTI_REMOVED("MPI_Comm_create_errhandler");
#endif
#ifndef MPI_Errhandler_set
int MPI_Errhandler_set(MPI_Comm, MPI_Errhandler) TUTTI_REMOVED("MPI_Comm_set_errhandler");
#endif
#ifndef MPI_Errhandler_get
int MPI_Errhandler_get(MPI_Comm, MPI_Errhandler*) TUTTI_REMOVED("MPI_Comm_get_errhandler");
#endif
#ifndef MPI_Type_extent
int MPI_Type_extent(MPI_Datatype, MPI_Aint*) TUTTI_REMOVED("MPI_Type_get_extent");
#endif
#ifndef MPI_Type_lb
int MPI_Type_lb(MPI_Datatype, MPI_Aint*) TUTTI_REMOVED("MPI_Type_get_extent");
#endif
#ifndef MPI_Type_ub
int MPI_Type_ub(MPI_Datatype, MPI_Aint*) TUTTI_REMOVED("MPI_Type_get_extent");
#endif
#ifndef MPI_Type_hvector
int MPI_Type_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype*)
    TUTTI_REMOVED("MPI_Type_create_hvector");
#endif
#ifndef MPI_Type_hindexed
int MPI_Type_hindexed(int, int*, MPI_Aint*, MPI_Datatype, MPI_Datatype*)
    TUTTI_REMOVED("MPI_Type_create_hindexed");
#endif
#ifndef MPI_Type_struct
int MPI_Type_struct(int, int*, MPI_Aint*, MPI_Datatype*, MPI_Datatype*)
    TUTTI_REMOVED("MPI_Type_create_struct");
#endif
#if defined(__cplusplus)
}
#endif

#endif
#endif

#endif

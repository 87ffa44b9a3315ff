/* mpi-fint.h: what C code needs to give handles and statuses to Fortran and to take them (MPI 5.0,
 * 19.3.4 and 19.3.5). It stands outside mpi.h because it stands outside the ABI: it depends on what
 * the Fortran compiler takes for its default INTEGER. Define MPI_ABI_Fint for another than int.
 *
 * A handle of Fortran is the integer of MPI_*_toint (20.4); a status is the integers of MPI_Status.
 */
#ifndef TUTTI_MPI_FINT_H
#define TUTTI_MPI_FINT_H

#ifndef MPI_ABI_Fint
#define MPI_ABI_Fint int
#endif
#ifndef MPI_Fint /* a program made for another ABI header may have brought its own */
typedef MPI_ABI_Fint MPI_Fint;
#endif

#define MPI_F_STATUS_SIZE 8

static __inline__ int MPI_Status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) {
  int i;
  for (i = 0; i < MPI_F_STATUS_SIZE; i++) {
    f_status[i] = ((const int*)c_status)[i];
  }
  return MPI_SUCCESS;
}

static __inline__ int MPI_Status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) {
  int i;
  for (i = 0; i < MPI_F_STATUS_SIZE; i++) {
    ((int*)c_status)[i] = (int)f_status[i];
  }
  return MPI_SUCCESS;
}

#define PMPI_Status_c2f MPI_Status_c2f
#define PMPI_Status_f2c MPI_Status_f2c

#define MPI_Comm_c2f MPI_Comm_toint
#define MPI_Comm_f2c MPI_Comm_fromint
#define MPI_Errhandler_c2f MPI_Errhandler_toint
#define MPI_Errhandler_f2c MPI_Errhandler_fromint
#define MPI_File_c2f MPI_File_toint
#define MPI_File_f2c MPI_File_fromint
#define MPI_Group_c2f MPI_Group_toint
#define MPI_Group_f2c MPI_Group_fromint
#define MPI_Info_c2f MPI_Info_toint
#define MPI_Info_f2c MPI_Info_fromint
#define MPI_Message_c2f MPI_Message_toint
#define MPI_Message_f2c MPI_Message_fromint
#define MPI_Op_c2f MPI_Op_toint
#define MPI_Op_f2c MPI_Op_fromint
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Request_f2c MPI_Request_fromint
#define MPI_Session_c2f MPI_Session_toint
#define MPI_Session_f2c MPI_Session_fromint
#define MPI_Type_c2f MPI_Type_toint
#define MPI_Type_f2c MPI_Type_fromint
#define MPI_Win_c2f MPI_Win_toint
#define MPI_Win_f2c MPI_Win_fromint
#define PMPI_Comm_c2f PMPI_Comm_toint
#define PMPI_Comm_f2c PMPI_Comm_fromint
#define PMPI_Errhandler_c2f PMPI_Errhandler_toint
#define PMPI_Errhandler_f2c PMPI_Errhandler_fromint
#define PMPI_File_c2f PMPI_File_toint
#define PMPI_File_f2c PMPI_File_fromint
#define PMPI_Group_c2f PMPI_Group_toint
#define PMPI_Group_f2c PMPI_Group_fromint
#define PMPI_Info_c2f PMPI_Info_toint
#define PMPI_Info_f2c PMPI_Info_fromint
#define PMPI_Message_c2f PMPI_Message_toint
#define PMPI_Message_f2c PMPI_Message_fromint
#define PMPI_Op_c2f PMPI_Op_toint
#define PMPI_Op_f2c PMPI_Op_fromint
#define PMPI_Request_c2f PMPI_Request_toint
#define PMPI_Request_f2c PMPI_Request_fromint
#define PMPI_Session_c2f PMPI_Session_toint
#define PMPI_Session_f2c PMPI_Session_fromint
#define PMPI_Type_c2f PMPI_Type_toint
#define PMPI_Type_f2c PMPI_Type_fromint
#define PMPI_Win_c2f PMPI_Win_toint
#define PMPI_Win_f2c PMPI_Win_fromint

#endif

// Chapter 5: making datatypes and asking about them.
#include <cstring>

#include "bodies.h"
#include "mpi/attributes.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code bad_type(MPI_Datatype datatype) {
  return refuse_handle(Code::type, "datatype", "datatype", bits_of(datatype));
}

}  // namespace

Code type_contiguous(Count count, types::Datatype& oldtype, MPI_Datatype* newtype) {
  return give(types::make_contiguous(count, oldtype), newtype);
}
Code type_vector(Count count, Count blocklength, Count stride, types::Datatype& oldtype,
                 MPI_Datatype* newtype) {
  return give(types::make_vector(count, blocklength, stride, oldtype), newtype);
}
Code type_create_hvector(Count count, Count blocklength, Count stride, types::Datatype& oldtype,
                         MPI_Datatype* newtype) {
  return give(types::make_hvector(count, blocklength, stride, oldtype), newtype);
}
Code type_indexed(Count /*count*/, std::span<const Count> array_of_blocklengths,
                  std::span<const Count> array_of_displacements, types::Datatype& oldtype,
                  MPI_Datatype* newtype) {
  return give(types::make_indexed(array_of_blocklengths, array_of_displacements, oldtype), newtype);
}
Code type_create_hindexed(Count /*count*/, std::span<const Count> array_of_blocklengths,
                          std::span<const Count> array_of_displacements, types::Datatype& oldtype,
                          MPI_Datatype* newtype) {
  return give(types::make_hindexed(array_of_blocklengths, array_of_displacements, oldtype),
              newtype);
}
Code type_create_indexed_block(Count /*count*/, Count blocklength,
                               std::span<const Count> array_of_displacements,
                               types::Datatype& oldtype, MPI_Datatype* newtype) {
  return give(types::make_indexed_block(blocklength, array_of_displacements, oldtype), newtype);
}
Code type_create_hindexed_block(Count /*count*/, Count blocklength,
                                std::span<const Count> array_of_displacements,
                                types::Datatype& oldtype, MPI_Datatype* newtype) {
  return give(types::make_hindexed_block(blocklength, array_of_displacements, oldtype), newtype);
}

Code type_create_struct(Count count, std::span<const Count> array_of_blocklengths,
                        std::span<const Count> array_of_displacements,
                        const MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
  std::vector<types::Datatype*> olds;
  for (Count i = 0; i < count; ++i) {
    olds.push_back(type_of(array_of_types[i]));
    if (olds.back() == nullptr)
      return refuse(Code::type, "array_of_types[" + std::to_string(i) + "] is not valid");
  }
  return give(types::make_struct(array_of_blocklengths, array_of_displacements, olds), newtype);
}

Code type_create_subarray(int /*ndims*/, std::span<const Count> array_of_sizes,
                          std::span<const Count> array_of_subsizes,
                          std::span<const Count> array_of_starts, int order,
                          types::Datatype& oldtype, MPI_Datatype* newtype) {
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    return refuse(Code::arg, "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  const auto by = order == MPI_ORDER_C ? types::ArrayOrder::c : types::ArrayOrder::fortran;
  return give(types::make_subarray(array_of_sizes, array_of_subsizes, array_of_starts, by, oldtype),
              newtype);
}

Code type_create_resized(types::Datatype& oldtype, Count lb, Count extent, MPI_Datatype* newtype) {
  return give(types::make_resized(oldtype, lb, extent), newtype);
}
Code type_dup(types::Datatype& oldtype, MPI_Datatype* newtype) {
  const auto keep = types::TypeRef::share(&oldtype);  // a copy function may free it
  auto made = types::make_dup(oldtype);
  if (!made) return note(made);
  *newtype = MPI_DATATYPE_NULL;  // should a copy function fail
  if (const Code code = copy_attributes(carrier(oldtype), carrier(**made)); code != Code::ok)
    return code;
  return give(std::move(made), newtype);
}

Code type_commit(MPI_Datatype* datatype) {
  types::Datatype* const type = type_of(*datatype);
  if (type == nullptr) return bad_type(*datatype);
  if (!type->is_committed()) type->commit();
  return Code::ok;
}

Code type_free(MPI_Datatype* datatype) {
  types::Datatype* const type = type_of(*datatype);
  if (type == nullptr || type->is_basic() || !type->take_back())
    return refuse_to_free(Code::type, "datatype", "datatype", bits_of(*datatype), type);
  if (const Code code = drop_all_attributes(carrier(*type)); code != Code::ok) {
    type->hand_out();  // not freed
    return code;
  }
  type->release();
  *datatype = MPI_DATATYPE_NULL;
  return Code::ok;
}

Code type_size(types::Datatype& datatype, Count* size) {
  *size = datatype.size();
  return Code::ok;
}
Code type_get_extent(types::Datatype& datatype, Count* lb, Count* extent) {
  *lb = datatype.lower_bound();
  *extent = datatype.extent();
  return Code::ok;
}
Code type_get_true_extent(types::Datatype& datatype, Count* true_lb, Count* true_extent) {
  *true_lb = datatype.true_lower_bound();
  *true_extent = datatype.true_extent();
  return Code::ok;
}

Code type_set_name(types::Datatype& datatype, const char* type_name) {
  datatype.set_name({type_name, ::strnlen(type_name, MPI_MAX_OBJECT_NAME - 1)});
  return Code::ok;
}
// The null handle has a name too (MPI 5.0, 7.8).
Code type_get_name(types::Datatype* datatype, char* type_name, int* resultlen) {
  const std::string name = datatype == nullptr ? "MPI_DATATYPE_NULL" : datatype->name();
  *resultlen = put_text(name, type_name, MPI_MAX_OBJECT_NAME);
  return Code::ok;
}

Code get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return Code::ok;
}
MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) {
  return base + disp;
}
MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return addr1 - addr2;
}

}  // namespace tutti::mpi::body

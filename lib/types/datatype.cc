// datatype.cc: the Datatype object itself: made from a shape and a layout, named, freed.
#include "types/maker.h"

namespace tutti::types {

Datatype::Datatype(Handle handle)
    : Object(ObjectKind::datatype, &Object::destroy_as<Datatype>, handle) {}

Datatype::~Datatype() = default;

std::string Datatype::name() const {
  return made_->name;
}
void Datatype::set_name(std::string name) {
  made_->name = std::move(name);
}

TypeRef Maker::make(const TypeFacts& shape, const Placed& root, Made made, Handle handle) {
  auto* type = new Datatype(handle);
  type->size_ = shape.size;
  type->extent_ = shape.end - shape.begin;
  type->lower_bound_ = shape.begin;
  type->true_extent_ = shape.true_end - shape.true_begin;
  type->true_lower_bound_ = shape.true_begin;
  type->contiguous_ = shape.size == 0 || (root.node->kind == Node::Kind::run && root.offset == 0 &&
                                          type->extent_ == shape.size);
  type->element_ = shape.element;
  type->marked_ = shape.marked;
  type->alignment_ = shape.alignment;
  type->basic_ = shape.basic;
  type->layout_ = std::make_unique<Layout>(Layout{root});
  type->made_ = std::make_unique<Made>(std::move(made));
  return TypeRef::adopt(type);
}

TypeRef make_again(Datatype& old) {
  Made made = old.made();
  made.name.clear();
  TypeRef type = Maker::make(Maker::shape(old), old.layout().root, std::move(made));
  if (old.is_committed()) type->commit();
  return type;
}

TypeRef make_unnamed(int combiner, std::span<const Count> integers, Datatype& base) {
  Made made;
  made.combiner = combiner;
  made.integers.assign(integers.begin(), integers.end());
  TypeFacts shape = Maker::shape(base);
  shape.basic = true;
  TypeRef type = Maker::make(shape, base.layout().root, std::move(made));
  type->commit();
  return type;
}

TypeFacts Maker::shape(const Datatype& type) {
  TypeFacts shape;
  shape.size = type.size_;
  shape.begin = type.lower_bound_;
  shape.end = type.lower_bound_ + type.extent_;
  shape.true_begin = type.true_lower_bound_;
  shape.true_end = type.true_lower_bound_ + type.true_extent_;
  shape.alignment = type.alignment_;
  shape.marked = type.marked_;
  shape.element = type.element_;
  return shape;
}

// A large-count constructor's numbers are all "large counts", but for those of an array that
// stay integers (MPI 5.0, 5.1.13).
void Maker::mark_large(Datatype& type) {
  Made& made = *type.made_;
  if (made.is_large) return;
  made.is_large = true;
  auto first = made.integers.begin();
  auto last = made.integers.end();
  if (made.combiner == kSubarray) {  // ndims, then sizes, subsizes, starts, then order
    ++first;
    --last;
  } else if (made.combiner == kDarray) {  // size, rank, ndims, then sizes, then the others
    const Count dims = made.integers[2];
    first += 3;
    last = first + dims;
  }
  made.counts.assign(first, last);
  made.integers.erase(first, last);
  made.counts.insert(made.counts.end(), made.addresses.begin(), made.addresses.end());
  made.addresses.clear();
}

void mark_large(Datatype& type) {
  Maker::mark_large(type);
}

}  // namespace tutti::types

// Nothing: a library has a source, and this one is there for its precompiled header (meson.build).

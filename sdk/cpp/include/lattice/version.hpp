#pragma once

namespace lattice {

/// The version of the package: that of the director with which it was released.
inline constexpr const char* version = "0.1.0";

}  // namespace lattice

// Package peers runs the scenarios of test/peertest with the packages of engines: C++ with libcurl, C# with Mono, and
// GDScript with Godot without a window, and Rust; a game of Bevy with bevygap's own plugins, in bevygap, and the
// plugins of sdk/rust/bevy with two releases of Lightyear, of which lightyear-0.25 is the older one. `make peers`
// installs what they need and runs them; without it this package only compares versions.
package peers

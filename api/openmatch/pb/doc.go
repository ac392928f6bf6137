// Package pb is the protocol of Open Match v1: its messages, its services and their mapping to HTTP, generated from the
// .proto files and http.yaml one directory up (`make generate`). Only this file and the tests are written by hand. The
// tests state the wire format a second time, so that a mistake in a .proto file is noticed.
//
// director.proto is not part of Open Match. It has the director's extensions, in a protobuf package of its own.
//
// Only server/openmatch and the example of a user's programs import this package; all other packages have plain types
// of their own. A program cannot link both this package and Open Match's own Go package, because both register the same
// names.
package pb

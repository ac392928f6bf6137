// Package pb is the protocol of Open Match v1: its messages, its services and their mapping to HTTP, generated from the
// .proto files and http.yaml one directory up (`make generate`). Only this file and the test are written by hand; the test
// says once more what the wire is, so that a slip in a .proto file does not go unseen.
//
// director.proto is not Open Match's: it is what there is beyond it, in a protocol package of its own.
//
// It is for those who speak the protocol: server/openmatch and the example of a user's programs. Whatever decides or
// stores has plain types of its own. A program that links Open Match's own Go package cannot link this one as well: both
// register the same names.
package pb

// Package match holds what matchmaking computes from values already read: whether a pool holds a ticket, which proposals
// become matches, whether an assignment is well-formed. The rules are Open Match's, exactly, so that programs written for
// it meet the same decisions here.
//
// A file per question: pool.go, evaluate.go, assign.go. index.go is what pool.go decides, for a store with an index, and
// moment.go is time as the wire has it. Everything is pure: no database, no network, no protocol, no clock. Functions keep
// none of their arguments and may be called from many goroutines.
//
// What a pool holds is also decided in SQL, where the tickets are. The cases and generators of matchtest are for both, and
// hold the two together.
package match

// Package lobby decides what happens in the rooms of the realtime lobby: it is pure. A transaction of db locks rooms
// and reads them, an [Action] changes each [Room] in memory, and the transaction writes what changed. So an action may
// run again after a conflict, with the same result.
//
// A room has a [State], which its members see, and a [Logic] by its type. [Types] has the types that this process
// serves. The checksum of a state, in the form in which the clients of Nexis compute it, is in checksum.go.
package lobby

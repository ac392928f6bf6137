// Package pb has the director's extensions of Open Match's tickets and assignments, generated from ticket.proto one
// directory up (`make generate`). A program that links Open Match's own Go package may import it: it registers no name
// of Open Match.
package pb

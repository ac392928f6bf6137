package storetest

import (
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// Trap calls a function once, at a statement or a method that a test names: a [Tracer] says where a store is. Its zero
// value is not armed. Safe for concurrent use.
type Trap struct {
	armed atomic.Pointer[armedTrap]
}

type armedTrap struct {
	name   string
	spring func()
}

// Arm has the trap call spring at the statement that sqlc, or the method that Go, knows by a name.
func (p *Trap) Arm(name string, spring func()) { p.armed.Store(&armedTrap{name, spring}) }

// AtStatement springs the trap if the SQL has its statement.
func (p *Trap) AtStatement(sql string) {
	p.springIf(func(name string) bool { return strings.Contains(sql, "-- name: "+name+" ") })
}

// AtCall springs the trap if its method, of a type of package db or query, is among the caller's callers.
func (p *Trap) AtCall(receiver string) {
	p.springIf(func(name string) bool { return strings.Contains(string(debug.Stack()), ".(*"+receiver+")."+name+"(") })
}

func (p *Trap) springIf(isThere func(name string) bool) {
	if a := p.armed.Load(); a != nil && isThere(a.name) && p.armed.CompareAndSwap(a, nil) {
		a.spring()
	}
}

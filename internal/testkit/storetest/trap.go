package storetest

import (
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// Trap calls a function once, when a store comes to a statement or a method that a test names. The functions of a
// [Tracer] call AtStatement or AtCall. The zero value calls nothing. Safe for concurrent use.
type Trap struct {
	armed atomic.Pointer[armedTrap] // nil: not armed, or sprung
}

type armedTrap struct {
	name   string
	spring func()
}

// Arm has the trap call spring at the statement with this name of sqlc, or at the method with this name.
func (p *Trap) Arm(name string, spring func()) { p.armed.Store(&armedTrap{name, spring}) }

// AtStatement springs the trap if its statement is in the SQL.
func (p *Trap) AtStatement(sql string) {
	p.springIf(func(name string) bool { return strings.Contains(sql, "-- name: "+name+" ") })
}

// AtCall springs the trap if its method, of a receiver of package db or query, is among the caller's callers.
func (p *Trap) AtCall(receiver string) {
	p.springIf(func(name string) bool { return strings.Contains(string(debug.Stack()), ".(*"+receiver+")."+name+"(") })
}

// springIf springs the trap if it is armed and what it names is there.
func (p *Trap) springIf(isThere func(name string) bool) {
	if a := p.armed.Load(); a != nil && isThere(a.name) && p.armed.CompareAndSwap(a, nil) {
		a.spring()
	}
}

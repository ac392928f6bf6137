// Package refusals collects why requests of players are refused, and records it for operators (ops.refusals) outside of
// the requests: a replica that refuses very much does not get slower by it, and one whose database is away still says
// why.
package refusals

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

const (
	// maxPending bounds the memory: an entry has at most 2 KiB, so 8 MiB.
	maxPending = 4096
	// flushRows is how many entries a statement records: 512 rows a second are no load for Postgres.
	flushRows = 512

	maxText   = 256 // bytes of a player, a call and so on
	maxDetail = 512 // bytes
)

// Store is the part of db.Store that a Book calls.
type Store interface {
	RecordRefusals(ctx context.Context, all []db.Refusals) error
}

// Book collects refusals. Make it with [New], and [Book.Flush] it every second, and once more at the end. Safe for
// concurrent use.
type Book struct {
	store        Store
	lostRefusals prometheus.Counter

	mu           sync.Mutex
	pendingByKey map[key]*entry
	pendingOrder []key // of pendingByKey, the oldest first
}

// key is what refusals have in common that are one row for an hour.
type key struct{ player, call, code string }

type entry struct {
	latest fault.Refusal

	timesRefused    int
	firstAt, lastAt time.Time
}

// New makes a Book that records in a store, and registers its metric, unless metrics is nil. Errors: it is already
// registered.
func New(store Store, metrics prometheus.Registerer) (*Book, error) {
	b := &Book{store: store, pendingByKey: map[key]*entry{}, lostRefusals: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "director_refusals_unrecorded_total",
		Help: "Refused requests of players that ops.refusals lacks, mostly because too many others waited to be " +
			"recorded.",
	})}
	if metrics == nil {
		return b, nil
	}
	return b, metrics.Register(b.lostRefusals)
}

// Record takes a refusal that has just happened. It never waits. While 4,096 rows wait to be recorded, those of others
// are lost and counted. Texts are cut, to 512 bytes the detail and to 256 the others. A player who waits in a login
// queue is not refused: a crowd there would leave no room for others, and ops.admissions has its places.
func (b *Book) Record(r fault.Refusal) {
	if r.Code == db.CodeNotAdmitted {
		return
	}
	for _, text := range []*string{&r.Player, &r.Call, &r.Code, &r.Region, &r.Mode, &r.RequestID} {
		*text = truncateText(*text, maxText)
	}
	r.Detail = truncateText(r.Detail, maxDetail)
	now := time.Now()
	b.addEntry(entry{latest: r, timesRefused: 1, firstAt: now, lastAt: now})
}

// truncateText returns a text that Postgres stores, of at most that many bytes.
func truncateText(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	// The cut may be within a character.
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func (b *Book) addEntry(e entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key{e.latest.Player, e.latest.Call, e.latest.Code}
	known, found := b.pendingByKey[k]
	switch {
	// Counted however many others wait: it takes no more memory.
	case found:
		known.merge(e)
	case len(b.pendingByKey) < maxPending:
		b.pendingByKey[k] = &e
		b.pendingOrder = append(b.pendingOrder, k)
	default:
		b.lostRefusals.Add(float64(e.timesRefused))
	}
}

func (e *entry) merge(o entry) {
	if o.lastAt.After(e.lastAt) {
		e.latest, e.lastAt = o.latest, o.lastAt
	}
	if o.firstAt.Before(e.firstAt) {
		e.firstAt = o.firstAt
	}
	e.timesRefused += o.timesRefused
}

// Flush records, in one statement, the oldest 512 rows that wait. If the database is away, they wait again, behind the
// others. Errors: those of the store.
func (b *Book) Flush(ctx context.Context) error {
	taken := b.takeEntries()
	if len(taken) == 0 {
		return nil
	}
	err := b.store.RecordRefusals(ctx, refusalRows(taken))
	for _, e := range taken {
		switch {
		case fault.Is(err, fault.Unavailable):
			b.addEntry(e)
		// Not kept: what fails for another reason would fail again, and take the places of later ones.
		case err != nil:
			b.lostRefusals.Add(float64(e.timesRefused))
		}
	}
	return err
}

func (b *Book) takeEntries() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(flushRows, len(b.pendingOrder))
	taken := make([]entry, n)
	for i, k := range b.pendingOrder[:n] {
		taken[i] = *b.pendingByKey[k]
		delete(b.pendingByKey, k)
	}
	// Moved to the front, so that the array is used again and does not grow.
	b.pendingOrder = append(b.pendingOrder[:0], b.pendingOrder[n:]...)
	return taken
}

func refusalRows(taken []entry) []db.Refusals {
	now := time.Now()
	all := make([]db.Refusals, len(taken))
	for i, e := range taken {
		all[i] = db.Refusals{Latest: e.latest, Times: e.timesRefused, FirstAge: now.Sub(e.firstAt),
			LastAge: now.Sub(e.lastAt)}
	}
	return all
}

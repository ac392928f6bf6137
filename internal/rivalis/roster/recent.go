package roster

import (
	"slices"
	"sync"
)

const (
	keptEvents = 4096     // events of earlier reads that are kept for streams: at least this many, up to twice as many
	keptBytes  = 32 << 20 // limit of the bytes of these events, up to twice as many
	takeAtOnce = 256      // events that a stream receives at a time
)

// recent holds the latest events of the reader, for all streams. Safe for concurrent use.
type recent struct {
	mu          sync.Mutex
	epoch       uint64 // incremented when the log is started again, after a gap
	hasReader   bool   // whether Run reads the log
	entries     []entry
	dataBytes   int           // of the entries
	firstNumber uint64        // the number of entries[0]; an event keeps its number within an epoch
	keptAfter   position      // entries holds all events after this position
	readUpTo    position      // the position up to which the reader has read
	changed     chan struct{} // closed when events were added, or the log was started
}

func newRecent() *recent { return &recent{changed: make(chan struct{})} }

// mark is the place of a stream in the recent events.
type mark struct {
	logEpoch   uint64
	nextNumber uint64 // the number of the next event
}

// beginAt starts the log at a position, without events. Streams with a mark of an earlier epoch have missed events.
func (l *recent) beginAt(at position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch++
	l.firstNumber += uint64(len(l.entries))
	l.hasReader, l.entries, l.dataBytes, l.keptAfter, l.readUpTo = true, nil, 0, at, at
	l.wakeStreams()
}

// stopLog ends the log, because no stream needs it.
func (l *recent) stopLog() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.firstNumber += uint64(len(l.entries))
	l.hasReader, l.entries, l.dataBytes = false, nil, 0
}

// appendRead adds the events of one read, which ended at position end. It drops only events of earlier reads, so streams
// can receive all events of a read, however many, until the next read.
func (l *recent) appendRead(added []entry, end position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readUpTo = end // also without events: a stream that begins now begins there
	if len(added) == 0 {
		return
	}
	// It trims only at twice the limits: trimEarliest copies what stays, and so runs once in keptEvents events.
	if len(l.entries) > 2*keptEvents || l.dataBytes > 2*keptBytes {
		l.trimEarliest()
	}
	l.entries = append(l.entries, added...)
	for i := range added {
		l.dataBytes += len(added[i].event.Data)
	}
	l.wakeStreams()
}

// trimEarliest drops the earliest events.
func (l *recent) trimEarliest() {
	drop, bytes := len(l.entries), 0
	for drop > 0 && len(l.entries)-drop < keptEvents && bytes < keptBytes {
		drop--
		bytes += len(l.entries[drop].event.Data)
	}
	if drop > 0 {
		l.keptAfter = l.entries[drop-1].position
	}
	l.firstNumber += uint64(drop)
	// The rest is copied, because a part of the array would keep the dropped events in memory.
	l.entries, l.dataBytes = slices.Clone(l.entries[drop:]), bytes
}

func (l *recent) wakeStreams() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// takeNext returns the next events of a stream, and its mark after them. If there are none, it returns the channel to
// wait on. behind means that some of the next events were already dropped.
func (l *recent) takeNext(m mark) (taken []entry, after mark, wait <-chan struct{}, behind bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.logEpoch != l.epoch || m.nextNumber < l.firstNumber {
		return nil, m, nil, true
	}
	rest := l.entries[m.nextNumber-l.firstNumber:]
	rest = rest[:min(len(rest), takeAtOnce)]
	if len(rest) == 0 {
		return nil, m, l.changed, false
	}
	m.nextNumber += uint64(len(rest))
	// The events are copied: the caller encodes them without the lock, while the list may be trimmed.
	return slices.Clone(rest), m, nil, false
}

// newestMark returns the mark after all events and the position of the reader.
func (l *recent) newestMark() (m mark, end position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return mark{l.epoch, l.firstNumber + uint64(len(l.entries))}, l.readUpTo
}

// enterAfter returns the mark after a position, if all events after it are still kept.
func (l *recent) enterAfter(p position) (m mark, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.compare(l.keptAfter) < 0 {
		return mark{}, false
	}
	return mark{l.epoch, l.firstNumber + uint64(l.indexAfter(p))}, true
}

// findEvent returns the mark after an event, if the event is still kept.
func (l *recent) findEvent(event position) (m mark, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.indexAfter(event)
	// A Sync may have the same position, and has no id from which a stream could resume.
	for i := at - 1; i >= 0 && l.entries[i].position == event; i-- {
		if l.entries[i].event.ID != "" {
			return mark{l.epoch, l.firstNumber + uint64(at)}, true
		}
	}
	return mark{}, false
}

// indexAfter returns the index of the first event after a position.
func (l *recent) indexAfter(p position) int {
	at, _ := slices.BinarySearchFunc(l.entries, p, func(e entry, p position) int {
		if e.position.compare(p) <= 0 {
			return -1
		}
		return 1
	})
	return at
}

// isRunning reports whether the reader has started, and returns a channel that is closed when that may have changed.
func (l *recent) isRunning() (running bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hasReader, l.changed
}

// isContinuous reports whether there was no gap since an epoch.
func (l *recent) isContinuous(epoch uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch == epoch
}

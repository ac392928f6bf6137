package db

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// IDKind is what a ticket-like id names.
type IDKind byte

// The kinds of ids.
const (
	TicketID   IDKind = 't'
	BackfillID IDKind = 'b'
)

// Ids of tickets and backfills look as Open Match's do: 12 bytes in 20 characters. They certify themselves, so that an id
// which is not there any more can be told from one that never was, without a table of all there ever were:
//
//	4 seconds since 1970 | 2 of the process | 3 counted from a random start | 3 a digest of all before, the region and the kind
var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

const (
	idBytes  = 12
	idSigned = 9 // of them, by the digest in the others
)

// idMint makes ids. It is safe for concurrent use. Two processes may make the same id, once in about 2^40 in the same
// second: the table that stores them must reject duplicates.
type idMint struct {
	process [2]byte
	counter atomic.Uint32
}

func newIDMint() *idMint {
	var start [6]byte
	_, _ = rand.Read(start[:]) // never fails, by its contract
	m := &idMint{process: [2]byte(start[:2])}
	m.counter.Store(binary.BigEndian.Uint32(start[2:]))
	return m
}

func (m *idMint) next(region string, kind IDKind, now time.Time) string {
	var id [idBytes]byte
	binary.BigEndian.PutUint32(id[:4], uint32(now.Unix())) // wraps in 2106
	copy(id[4:6], m.process[:])
	n := m.counter.Add(1)
	id[6], id[7], id[8] = byte(n>>16), byte(n>>8), byte(n)
	copy(id[idSigned:], idDigest(region, kind, id[:idSigned]))
	return idText.EncodeToString(id[:])
}

// IssuedHere reports whether an id was made for something of this kind in this region, which may be deleted by now. It is wrong
// about one in 2^24 of the ids that were not.
func IssuedHere(region string, kind IDKind, id string) bool {
	if len(id) != idText.EncodedLen(idBytes) {
		return false
	}
	raw, err := idText.DecodeString(id)
	return err == nil && idText.EncodeToString(raw) == id && bytes.Equal(idDigest(region, kind, raw[:idSigned]), raw[idSigned:])
}

func idDigest(region string, kind IDKind, signed []byte) []byte {
	b := make([]byte, 0, 64)
	b = append(b, region...)
	b = append(b, 0, byte(kind))
	sum := sha256.Sum256(append(b, signed...))
	return sum[:idBytes-idSigned]
}

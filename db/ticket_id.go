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

// IDKind says what an id names.
type IDKind byte

// The kinds of ids.
const (
	TicketID   IDKind = 't'
	BackfillID IDKind = 'b'
)

// idText encodes ids of tickets and backfills. They have the form of Open Match's: 12 bytes in 20 characters. They
// contain a digest, by which an id that was issued once can be distinguished from one that never was, without a table
// of all ids. The bytes are:
//
//	4 seconds since 1970
//	2 of the process, random
//	3 counted by the process from a random start
//	3 a digest of the others, the region and the kind
var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

const (
	idBytes     = 12
	digestStart = 9 // index of the first byte of the digest
)

// idMint makes ids. It is safe for concurrent use. Two processes that make ids in the same second may make the same
// one, with a probability of about 1 in 2^40: the table that stores them must reject duplicates.
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
	copy(id[digestStart:], idDigest(region, kind, id[:digestStart]))
	return idText.EncodeToString(id[:])
}

// IssuedHere reports whether an id was issued for this kind in this region; the ticket or backfill may have been
// deleted. For an id that was not issued, the result is true with a probability of 1 in 2^24.
func IssuedHere(region string, kind IDKind, id string) bool {
	if len(id) != idText.EncodedLen(idBytes) {
		return false
	}
	raw, err := idText.DecodeString(id)
	// Several texts decode to the same bytes: only one of them was issued.
	return err == nil && idText.EncodeToString(raw) == id &&
		bytes.Equal(idDigest(region, kind, raw[:digestStart]), raw[digestStart:])
}

func idDigest(region string, kind IDKind, others []byte) []byte {
	b := make([]byte, 0, 64)
	b = append(b, region...)
	b = append(b, 0, byte(kind)) // no region has a zero byte
	sum := sha256.Sum256(append(b, others...))
	return sum[:idBytes-digestStart]
}

// NewTicketID returns an id as [Store.CreateTicket] gives tickets, for programs that fill a queue by themselves.
func (s *Store) NewTicketID(region string) string { return s.idMint.next(region, TicketID, s.Now()) }

package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/lattice-director/director/match"
)

// HistoryAttributes says how the attributes of tickets are remembered.
type HistoryAttributes uint8

// The choices of HistoryAttributes. Plain is the default. Hashed keeps which players and values are equal and forgets what they
// are; rules about numbers cannot be tried on such a history.
const (
	HistoryPlain HistoryAttributes = iota
	HistoryHashed
	HistoryNone
)

// ticket returns what may be remembered of a ticket.
func (h HistoryAttributes) ticket(t *match.Ticket) *match.Ticket {
	if h != HistoryHashed {
		return t
	}
	kept := *t
	kept.Players = make([]match.Player, len(t.Players))
	for i, p := range t.Players {
		kept.Players[i] = match.Player{Sub: hashed(p.Sub), Attributes: match.Attributes{}}
		for name, v := range p.Attributes {
			kept.Players[i].Attributes[name] = hashedValue(v)
		}
	}
	return &kept
}

func hashedValue(v match.Value) match.Value {
	switch v.Kind {
	case match.Number:
		return match.Value{Kind: match.Text, Text: hashed(strconv.FormatFloat(v.Number, 'g', -1, 64))}
	case match.Text:
		return match.Value{Kind: match.Text, Text: hashed(v.Text)}
	case match.List:
		list := match.Value{Kind: match.List}
		for _, text := range v.List {
			list.List = append(list.List, hashed(text))
		}
		return list
	}
	return match.Value{}
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

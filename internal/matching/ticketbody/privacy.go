package ticketbody

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/lattice-director/director/match"
)

// Privacy says what history keeps of the players of tickets that leave the queue.
type Privacy uint8

// The values of Privacy. Hashed shows only which players and values are equal, except to a reader that guesses them:
// the hashes are unkeyed. A replay of such a history cannot use rules that compare numbers.
const (
	Plain Privacy = iota
	// Hashed: players and the values of attributes are hashed. Names of attributes, tags that belong to none, and
	// latencies are plain. The source of the attributes is left out.
	Hashed
	NoAttributes // players are hashed; attributes, tags and latencies are left out
)

// Party returns the players of a ticket as the history keeps them.
func (p Privacy) Party(subs []string) []string {
	if p == Plain {
		return subs
	}
	kept := make([]string, len(subs))
	for i, sub := range subs {
		kept[i] = hashText(sub)
	}
	return kept
}

// Facts returns the [Facts] of a ticket as the history keeps them.
func (p Privacy) Facts(t *match.Ticket) (attributes, latencies []byte) {
	if p == NoAttributes {
		return nil, nil
	}
	if p == Hashed {
		return Facts(hashedTicket(t))
	}
	return Facts(t)
}

// hashedTicket returns a copy of a ticket, since engines decide by the ticket itself, with hashed players.
func hashedTicket(t *match.Ticket) *match.Ticket {
	kept := *t
	kept.Players = make([]match.Player, len(t.Players))
	for i, p := range t.Players {
		kept.Players[i] = match.Player{Sub: hashText(p.Sub), Attributes: match.Attributes{}}
		for name, v := range p.Attributes {
			kept.Players[i].Attributes[name] = hashedValue(v)
		}
	}
	return &kept
}

func hashedValue(v match.Value) match.Value {
	switch v.Kind {
	case match.Number:
		return match.Value{Kind: match.Text, Text: hashText(strconv.FormatFloat(v.Number, 'g', -1, 64))}
	case match.Text:
		return match.Value{Kind: match.Text, Text: hashText(v.Text)}
	case match.List:
		list := match.Value{Kind: match.List}
		for _, text := range v.List {
			list.List = append(list.List, hashText(text))
		}
		return list
	}
	return match.Value{}
}

// hashText returns 64 bits of a text's SHA-256 in hex, enough that two values of a history hardly ever share a hash.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

package lobby

// MessageSay is the type of the messages that people read. Rooms remember them, and a hook checks them.
const MessageSay = "say"

const (
	// MaxSayings is how many messages a room remembers.
	MaxSayings = 50
	// maxSaying is how many bytes of data a remembered message has at most.
	maxSaying = 8 << 10
)

// rememberMessage numbers the entry of a message if the room remembers it: lines of chat with a time.
func (r *Room) rememberMessage(e *Entry, m Message) {
	// A longer one is relayed, but not remembered: one answer of the store has up to MaxSayings of them.
	if e.Kind != EntryMessage || e.Type != MessageSay || len(e.Data) > maxSaying || m.SentAt.IsZero() {
		return
	}
	r.SaidCount++
	e.Number, e.SaidAt, e.Player = r.SaidCount, m.SentAt.UnixMilli(), m.Player
}

// LastSayings returns the messages among entries that the room remembers: the last MaxSayings.
func LastSayings(entries []Entry) (said []Entry) {
	for _, e := range entries {
		if e.Number > 0 {
			said = append(said, e)
		}
	}
	return said[max(0, len(said)-MaxSayings):]
}

package db

// The methods bytes tell about how much memory a call's request takes while it waits for a batch: its texts, and what points
// to them.

// pointerBytes is what a string or slice takes besides its text.
const pointerBytes = 24

func textBytes(texts ...string) (n int) {
	for _, t := range texts {
		n += pointerBytes + len(t)
	}
	return n
}

func oneText(text string) int { return textBytes(text) }

func (b beat) bytes() int { return textBytes(b.ref.InstanceID) }

func (r PlaceRequest) bytes() int {
	return textBytes(r.Caller, r.Region, r.Mode, r.IdempotencyKey) + len(r.RequestHash) + textBytes(r.Party...)
}

func (r resolveRequest) bytes() int { return textBytes(r.handle, r.sub) }

func (r SeatReport) bytes() int {
	n := textBytes(r.Ref.InstanceID, r.SessionID)
	for _, j := range r.Joined {
		n += textBytes(j.Sub, j.JTI, j.Connection)
	}
	for _, l := range r.Left {
		n += textBytes(l.Sub, l.Connection)
	}
	return n
}

// bytes counts the body twice: as the caller sent it, which stays until the answer, and as it is stored.
func (c *created) bytes() int {
	const term, double = 16, 24
	return 2*len(c.body) + term*len(c.row.Terms) + double*len(c.row.Doubles)
}

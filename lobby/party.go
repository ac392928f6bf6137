package lobby

// party is a group of friends that plays together. Its members queue for any room type.
type party struct{ group }

func (p party) OnJoin(r *Room, m Member, o Options) error { return p.addCard(r, m, o, card{}) }

func (p party) OnMessage(r *Room, m Member, msg Message) error {
	f, err := p.fieldsOfMessage(msg)
	if err != nil {
		return err
	}
	if msg.Type == "queue" {
		return byOwner(r, m, f, p.queue)
	}
	return p.handleCommon(r, m, msg, f)
}

func (p party) queue(r *Room, _ Member, f fields) error {
	q, err := queueOf(r, f, Queue{})
	if err != nil {
		return err
	}
	return p.enqueueMembers(r, q)
}

// resetAfterMatch changes nothing: the cards of a party have no readiness.
func (party) resetAfterMatch(*Room) {}

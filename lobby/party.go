package lobby

// partyLogic is a group of friends that play together. The owner names the room type for which they queue.
type partyLogic struct{ group }

func (p partyLogic) OnJoin(r *Room, m Member, o Options) error { return p.addCard(r, m, o, card{}) }

func (p partyLogic) OnMessage(r *Room, m Member, msg Message) error {
	f, err := p.fieldsOfMessage(msg)
	if err != nil {
		return err
	}
	if msg.Type == "queue" {
		return byOwner(r, m, f, p.queueMembers)
	}
	return p.handleCommon(r, m, msg, f)
}

func (p partyLogic) queueMembers(r *Room, _ Member, f fields) error {
	q, err := queueOf(r, f, Queue{})
	if err != nil {
		return err
	}
	return p.enqueueMembers(r, q)
}

// resetAfterMatch changes nothing: the cards of a party have no readiness.
func (partyLogic) resetAfterMatch(*Room) {}

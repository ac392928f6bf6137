package verify

// checkWhole checks that the match has tickets, that each of them is seated with all of its players, and that nobody
// else is.
func (c *checker) checkWhole() (found []Violation) {
	if len(c.match.Tickets) == 0 {
		return []Violation{newViolation("whole", "the match has no tickets")}
	}
	// By both: a player may have two tickets in a broken match, which checkOnce reports.
	type ticketPlayer struct{ ticket, sub string }
	missingSeats := map[ticketPlayer]int{} // negative: there are too many
	for _, t := range c.match.Tickets {
		for _, p := range t.Players {
			missingSeats[ticketPlayer{t.ID, p.Sub}]++
		}
	}
	for _, s := range c.match.Seats {
		missingSeats[ticketPlayer{s.Ticket, s.Sub}]--
	}
	for player, missing := range missingSeats {
		if missing > 0 {
			found = append(found, newViolation("whole", "player %s of ticket %s has no seat", player.sub, player.ticket))
		}
		if missing < 0 {
			found = append(found, newViolation("whole", "player %s of ticket %s has %d seats too many", player.sub,
				player.ticket, -missing))
		}
	}
	return found
}

// checkOnce checks that no player is in the match twice, by whatever tickets, and no ticket.
func (c *checker) checkOnce() (found []Violation) {
	players, tickets := map[string]bool{}, map[string]bool{}
	for _, m := range c.members {
		if players[m.seat.Sub] {
			found = append(found, newViolation("once", "player %s is in the match twice", m.seat.Sub))
		}
		players[m.seat.Sub] = true
	}
	for _, t := range c.match.Tickets {
		if tickets[t.ID] {
			found = append(found, newViolation("once", "ticket %s is in the match twice", t.ID))
		}
		tickets[t.ID] = true
	}
	return found
}

package decide

import "slices"

// choiceAt returns the candidate that is i-th in the seed's preference, nil after the last.
func (s *search) choiceAt(i int) *candidate {
	k := &s.choices
	for i >= len(k.list) {
		if k.isExhausted {
			return nil
		}
		s.pullNext()
		// With an order of the profile, all choices must be known before the first is. Without one they come in the
		// order of the walk, and most searches need only a few.
		if len(k.plan.orderCriteria) > 0 || len(k.plan.trades) > 0 {
			s.pullAll()
		}
	}
	return k.list[i]
}

// pullAll finds all choices and sorts them by the profile's order, or by its trades.
func (s *search) pullAll() {
	k := &s.choices
	s.pullRest()
	prefer := k.comparePreferred
	if len(k.plan.orderCriteria) == 0 {
		prefer = k.preferTraded
	}
	slices.SortStableFunc(k.list, prefer)
	k.countPlayers()
}

// pullRest finds the choices that are left.
func (s *search) pullRest() {
	for !s.choices.isExhausted {
		s.pullNext()
	}
}

// shuffleChoices finds all choices and puts them into a random order.
func (s *search) shuffleChoices() {
	k := &s.choices
	s.sortChoices()
	for i := len(k.list) - 1; i > 0; i-- {
		j := s.randomLot.drawBelow(i + 1)
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// shuffleNear finds all choices and puts them into an order in which those that the seed prefers come early: teams that
// are filled with neighbours hold more often where a rule compares each player with the mean of all.
func (s *search) shuffleNear() {
	k := &s.choices
	s.sortChoices()
	copy(k.list, k.unshuffledList)
	for i := range k.list {
		j := i + s.randomLot.drawBelow(min(len(k.list)-i, 2*s.plan.maxPlayers))
		k.list[i], k.list[j] = k.list[j], k.list[i]
	}
	k.countPlayers()
}

// sortChoices finds all choices, and keeps the seed's order of preference in unshuffledList.
func (s *search) sortChoices() {
	s.pullRest()
	// Only before the first shuffle of a search, the list has the order of preference.
	if s.choices.unshuffledList == nil {
		s.choices.unshuffledList = slices.Clone(s.choices.list)
	}
}

// pullNext appends the next candidate that can be with the seed.
func (s *search) pullNext() {
	k := &s.choices
	for k.scannedCount < maxScanned && k.hasPlaces() {
		c := k.walk.nextCandidate()
		if c == nil {
			break
		}
		k.scannedCount++
		// The seed is in its own window.
		if c == k.seed {
			continue
		}
		hasPlace := len(k.list) < k.maxList && k.wantsKind(c.kind)
		if !hasPlace && !k.variety.isRare(c) {
			// Its kind has all its places for now. It may get one that no other kind needs, once all kinds have
			// theirs.
			if len(k.reserve) < k.maxList {
				k.reserve = append(k.reserve, c)
			}
			continue
		}
		if because := s.refusalBesideSeed(c); because != "" {
			k.noteRefusal(c, because)
			continue
		}
		if !hasPlace {
			// A rare value gets a place beyond the limit, so that it takes none from the seed's nearest.
			k.variety.placesLeft--
			k.maxList++
		}
		k.addChoice(c)
		k.narrowWalk()
		if k.hasAllKinds {
			s.pullReserve()
		}
		return
	}
	k.isExhausted = true
	s.pullReserve()
}

// hasPlaces reports whether the list has a place for anybody, or only for rare values.
func (k *choices) hasPlaces() bool { return len(k.list) < k.maxList || k.variety.placesLeft > 0 }

// pullReserve adds the candidates of the reserve, as far as there is room.
func (s *search) pullReserve() {
	k := &s.choices
	for i := 0; i < len(k.reserve) && len(k.list) < k.maxList; i++ {
		if s.refusalBesideSeed(k.reserve[i]) == "" {
			k.addChoice(k.reserve[i])
		}
	}
	k.reserve = k.reserve[:0]
}

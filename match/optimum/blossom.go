package optimum

import "slices"

// marryNode matches a node with mate, by the edge between them: of a blossom, the vertex of that edge gets the mate
// outside.
func (g *graph) marryNode(node, mate int) {
	e := g.tightEdges[node][mate]
	g.mateOf[node] = e.target
	if node < g.vertexCount {
		return
	}
	member := g.holdingMember[node][e.source]
	at := g.evenPath(node, member)
	// The members before the new one are matched in pairs along the cycle: 0 with 1, 2 with 3 and so on.
	for k := range at {
		g.marryNode(g.blossomMembers[node][k], g.blossomMembers[node][k^1])
	}
	g.marryNode(member, mate)
	// The member with the mate outside comes first.
	g.blossomMembers[node] = append(slices.Clone(g.blossomMembers[node][at:]), g.blossomMembers[node][:at]...)
}

// evenPath returns the place of a member in the cycle of a blossom, which it turns round if the place is odd.
func (g *graph) evenPath(blossom, member int) int {
	cycle := g.blossomMembers[blossom]
	at := slices.Index(cycle, member)
	if at%2 == 0 {
		return at
	}
	// The cycle is odd: in the other direction the place is even.
	slices.Reverse(cycle[1:])
	return len(cycle) - at
}

// shrinkCycle makes one outer node of the cycle that an edge between two outer nodes of a tree closes.
func (g *graph) shrinkCycle(from, root, to int) {
	b := g.vertexCount // becomes the first unused blossom
	for g.topNode[b] != none {
		b++
	}
	g.dualValues[b], g.nodeLabels[b], g.mateOf[b] = 0, outer, g.mateOf[root]
	cycle := append(g.pathUp(from, root), root)
	slices.Reverse(cycle)
	g.blossomMembers[b] = append(cycle, g.pathUp(to, root)...)
	g.setTop(b, b)
	for node := range g.tightEdges {
		// Edges of a blossom that had this number before may be left.
		g.tightEdges[b][node], g.tightEdges[node][b] = edge{}, edge{}
	}
	for vertex := range g.vertexCount {
		g.holdingMember[b][vertex] = none
	}
	for _, member := range g.blossomMembers[b] {
		g.includeMember(b, member)
	}
	g.findNearest(b)
}

// pathUp returns the nodes from an outer node to one above it, without the latter. Those that were inner become outer.
func (g *graph) pathUp(from, to int) (nodes []int) {
	for node := from; node != to; {
		between := g.topNode[g.mateOf[node]]
		above := g.outerAbove(node)
		nodes = append(nodes, node, between)
		g.addPending(between) // it was inner: its edges have not been looked at
		node = above
	}
	return nodes
}

// setTop makes top the outermost node that contains a node, and all nodes within.
func (g *graph) setTop(node, top int) {
	g.topNode[node] = top
	if node < g.vertexCount {
		return
	}
	for _, member := range g.blossomMembers[node] {
		g.setTop(member, top)
	}
}

// includeMember gives a blossom the vertices of a member, and those of its edges that have less slack than the ones it
// has.
func (g *graph) includeMember(b, member int) {
	for node := range g.tightEdges {
		e := g.tightEdges[member][node]
		if e.weight > 0 && (g.tightEdges[b][node].weight == 0 || g.slackOf(e) < g.slackOf(g.tightEdges[b][node])) {
			g.tightEdges[b][node], g.tightEdges[node][b] = e, g.tightEdges[node][member]
		}
	}
	for vertex := range g.vertexCount {
		if g.holdingMember[member][vertex] != none {
			g.holdingMember[b][vertex] = member
		}
	}
}

// expandSpent expands the inner blossoms whose dual variable is used up.
func (g *graph) expandSpent() {
	for b := g.vertexCount; b < len(g.topNode); b++ {
		if g.topNode[b] == b && g.nodeLabels[b] == inner && g.dualValues[b] == 0 {
			g.expandBlossom(b)
		}
	}
}

// expandBlossom makes nodes of the members of an inner blossom. Those between its parent and its mate stay in the tree.
func (g *graph) expandBlossom(b int) {
	for _, member := range g.blossomMembers[b] {
		g.setTop(member, member)
	}
	entry := g.holdingMember[b][g.tightEdges[b][g.parentOf[b]].source]
	at := g.evenPath(b, entry)
	cycle := g.blossomMembers[b]
	// The way between the mate and the entry alternates between inner and outer nodes, as a tree does.
	for k := 0; k < at; k += 2 {
		in, out := cycle[k], cycle[k+1]
		g.parentOf[in] = g.tightEdges[out][in].source
		g.nodeLabels[in], g.nearestOuter[in] = inner, none
		g.nodeLabels[out] = outer
		g.findNearest(out)
		g.addPending(out)
	}
	g.nodeLabels[entry], g.parentOf[entry] = inner, g.parentOf[b]
	// The rest of the cycle leaves the tree, matched in pairs among itself.
	for _, member := range cycle[at+1:] {
		g.nodeLabels[member] = free
		g.findNearest(member)
	}
	g.topNode[b] = none
}

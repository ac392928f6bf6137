package optimum

import "slices"

// marry makes the vertex of a node that has the edge to mate the one with the mate outside.
func (g *graph) marry(node, mate int) {
	e := g.edges[node][mate]
	g.mate[node] = e.target
	if node < g.size {
		return
	}
	member := g.holder[node][e.source]
	at := g.evenPath(node, member)
	// The members before the new one are matched in pairs along the cycle: 0 with 1, 2 with 3 and so on.
	for k := range at {
		g.marry(g.members[node][k], g.members[node][k^1])
	}
	g.marry(member, mate)
	g.members[node] = append(slices.Clone(g.members[node][at:]), g.members[node][:at]...)
}

// evenPath returns the place of a member in the cycle of a blossom, which it turns round if the place is odd.
func (g *graph) evenPath(blossom, member int) int {
	cycle := g.members[blossom]
	at := slices.Index(cycle, member)
	if at%2 == 0 {
		return at
	}
	slices.Reverse(cycle[1:])
	return len(cycle) - at
}

// shrink makes one outer node of the cycle that an edge between two outer nodes of a tree closes.
func (g *graph) shrink(from, root, to int) {
	b := g.size
	for g.top[b] != none {
		b++
	}
	g.dual[b], g.labels[b], g.mate[b] = 0, outer, g.mate[root]
	cycle := append(g.path(from, root), root)
	slices.Reverse(cycle)
	g.members[b] = append(cycle, g.path(to, root)...)
	g.setTop(b, b)
	for node := range g.edges {
		g.edges[b][node], g.edges[node][b] = edge{}, edge{}
	}
	for vertex := range g.size {
		g.holder[b][vertex] = none
	}
	for _, member := range g.members[b] {
		g.include(b, member)
	}
	g.findNearest(b)
}

// path returns the nodes from an outer node to one above it, without the latter. Those that were inner become outer.
func (g *graph) path(from, to int) (nodes []int) {
	for node := from; node != to; {
		between := g.top[g.mate[node]]
		above := g.above(node)
		nodes = append(nodes, node, between)
		g.pend(between)
		node = above
	}
	return nodes
}

func (g *graph) setTop(node, top int) {
	g.top[node] = top
	if node < g.size {
		return
	}
	for _, member := range g.members[node] {
		g.setTop(member, top)
	}
}

// include gives a blossom the vertices of a member, and those of its edges that have less slack than the ones it has.
func (g *graph) include(b, member int) {
	for node := range g.edges {
		e := g.edges[member][node]
		if e.weight > 0 && (g.edges[b][node].weight == 0 || g.slack(e) < g.slack(g.edges[b][node])) {
			g.edges[b][node], g.edges[node][b] = e, g.edges[node][member]
		}
	}
	for vertex := range g.size {
		if g.holder[member][vertex] != none {
			g.holder[b][vertex] = member
		}
	}
}

// expandSpent expands the inner blossoms whose dual variable is used up.
func (g *graph) expandSpent() {
	for b := g.size; b < len(g.top); b++ {
		if g.top[b] == b && g.labels[b] == inner && g.dual[b] == 0 {
			g.expand(b)
		}
	}
}

// expand makes nodes of the members of an inner blossom. Those between its parent and its mate stay in the tree.
func (g *graph) expand(b int) {
	for _, member := range g.members[b] {
		g.setTop(member, member)
	}
	entry := g.holder[b][g.edges[b][g.parent[b]].source]
	at := g.evenPath(b, entry)
	cycle := g.members[b]
	// The way between the mate and the entry alternates between inner and outer nodes, as a tree does.
	for k := 0; k < at; k += 2 {
		in, out := cycle[k], cycle[k+1]
		g.parent[in] = g.edges[out][in].source
		g.labels[in], g.nearest[in] = inner, none
		g.labels[out] = outer
		g.findNearest(out)
		g.pend(out)
	}
	g.labels[entry], g.parent[entry] = inner, g.parent[b]
	for _, member := range cycle[at+1:] {
		g.labels[member] = free
		g.findNearest(member)
	}
	g.top[b] = none
}

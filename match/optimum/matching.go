package optimum

import "math"

// matchVertices returns the mate of each vertex in a matching of the greatest weight, or none.
func (g *graph) matchVertices() []int {
	highest := int64(0)
	for i := range g.vertexCount {
		for j := range g.vertexCount {
			highest = max(highest, g.tightEdges[i][j].weight)
		}
	}
	for i := range g.vertexCount {
		g.dualValues[i] = highest // so that no edge has a negative slack
	}
	for g.augmentOnce() {
	}
	return g.mateOf[:g.vertexCount]
}

// augmentOnce grows trees from all vertices without a mate until a path between two of them adds a pair. It returns
// false if no further pair makes the matching better.
func (g *graph) augmentOnce() bool {
	g.pendingVertices = g.pendingVertices[:0]
	for node, top := range g.topNode {
		g.nodeLabels[node], g.nearestOuter[node] = free, none
		if top == node && g.mateOf[node] == none {
			g.parentOf[node] = none
			g.becomeOuter(node)
		}
	}
	// Every vertex has a mate.
	if len(g.pendingVertices) == 0 {
		return false
	}
	for !g.growForest() {
		if !g.adjustDuals() {
			return false
		}
		if g.growAlongTight() {
			return true
		}
		g.expandSpent()
	}
	return true
}

// growForest looks at the edges of all outer vertices. It reports whether a pair was added.
func (g *graph) growForest() bool {
	for len(g.pendingVertices) > 0 {
		from := g.pendingVertices[0]
		g.pendingVertices = g.pendingVertices[1:]
		if g.nodeLabels[g.topNode[from]] == inner {
			continue
		}
		for to := range g.vertexCount {
			e := g.tightEdges[from][to]
			if e.weight == 0 || g.topNode[from] == g.topNode[to] {
				continue
			}
			if g.slackOf(e) > 0 {
				g.comeNear(from, g.topNode[to])
			} else if g.followEdge(e) {
				return true
			}
		}
	}
	return false
}

// adjustDuals changes the dual variables by as much as makes an edge tight or a blossom expandable. It returns false if
// the vertices without a mate cost nothing any more: then the matching has the greatest weight.
func (g *graph) adjustDuals() bool {
	by := g.dualStep()
	for vertex := range g.vertexCount {
		switch g.nodeLabels[g.topNode[vertex]] {
		case outer:
			if g.dualValues[vertex] <= by {
				return false
			}
			g.dualValues[vertex] -= by
		case inner:
			g.dualValues[vertex] += by
		case free:
		}
	}
	for b := g.vertexCount; b < len(g.topNode); b++ {
		if g.topNode[b] != b {
			continue
		}
		switch g.nodeLabels[b] {
		case outer:
			g.dualValues[b] += 2 * by
		case inner:
			g.dualValues[b] -= 2 * by
		case free:
		}
	}
	return true
}

// dualStep returns by how much the dual variables may change until an edge is tight or a blossom is used up.
func (g *graph) dualStep() int64 {
	by := int64(math.MaxInt64)
	for node, top := range g.topNode {
		if top != node {
			continue
		}
		if node >= g.vertexCount && g.nodeLabels[node] == inner {
			by = min(by, g.dualValues[node]/2)
		}
		if from := g.nearestOuter[node]; from != none {
			switch slack := g.slackOf(g.tightEdges[from][node]); g.nodeLabels[node] {
			case free:
				by = min(by, slack)
			case outer:
				// Both ends come nearer, so half of the slack is enough. It is even: the dual variables of all outer
				// vertices are either even or odd.
				by = min(by, slack/2)
			case inner:
			}
		}
	}
	return by
}

// growAlongTight follows the edges that adjustDuals made tight. It reports whether a pair was added.
func (g *graph) growAlongTight() bool {
	for node := range g.topNode {
		from := g.nearestOuter[node]
		if g.topNode[node] != node || from == none || g.topNode[from] == node {
			continue
		}
		if e := g.tightEdges[from][node]; g.slackOf(e) == 0 && g.followEdge(e) {
			return true
		}
	}
	return false
}

// followEdge adds a tight edge of an outer vertex to the forest. It reports whether a pair was added.
func (g *graph) followEdge(e edge) bool {
	from, to := g.topNode[e.source], g.topNode[e.target]
	switch g.nodeLabels[to] {
	case free:
		g.parentOf[to], g.nodeLabels[to] = e.source, inner
		// A free node has a mate, else it would be the root of a tree.
		next := g.topNode[g.mateOf[to]]
		g.nearestOuter[to], g.nearestOuter[next] = none, none
		g.becomeOuter(next)
	case outer:
		root := g.meetingNode(from, to)
		if root == none {
			g.flipPath(from, to)
			g.flipPath(to, from)
			return true
		}
		g.shrinkCycle(from, root, to)
	// An edge to an inner node leads to no vertex that is not in the forest already.
	case inner:
	}
	return false
}

// meetingNode returns the outer node at which the paths of two outer nodes to their roots meet; none: they are in
// different trees.
func (g *graph) meetingNode(a, b int) int {
	g.visitCount++
	for a != none || b != none {
		if a != none {
			if g.lastVisit[a] == g.visitCount {
				return a
			}
			g.lastVisit[a] = g.visitCount
			a = g.outerAbove(a)
		}
		// In turn on both paths, so that the search ends soon after they meet.
		a, b = b, a
	}
	return none
}

// flipPath gives an outer node a new mate, and changes all pairs on its path to the root.
func (g *graph) flipPath(node, mate int) {
	for {
		former := none
		if g.mateOf[node] != none {
			former = g.topNode[g.mateOf[node]]
		}
		g.marryNode(node, mate)
		if former == none {
			return
		}
		next := g.topNode[g.parentOf[former]]
		g.marryNode(former, next)
		node, mate = next, former
	}
}

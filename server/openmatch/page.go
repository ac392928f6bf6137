package openmatch

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// pages are the encoded messages of a query's answer, each a repeated field with number 1, bounded by maxItems and
// maxBytes.
type pages struct {
	maxItems int // of a page
	maxBytes int // of a page with more than one item

	finishedPages [][]byte
	openPage      []byte
	openItems     int
}

func (p *pages) addItem(item []byte) {
	const tag = 1
	need := protowire.SizeTag(tag) + protowire.SizeBytes(len(item))
	// An item that is larger than a page has a page for itself.
	if p.openItems == p.maxItems || p.openItems > 0 && len(p.openPage)+need > p.maxBytes {
		p.flushPage()
	}
	p.openPage = protowire.AppendBytes(protowire.AppendTag(p.openPage, tag, protowire.BytesType), item)
	p.openItems++
}

func (p *pages) flushPage() {
	p.finishedPages = append(p.finishedPages, p.openPage)
	p.openPage, p.openItems = nil, 0
}

// allPages returns the pages; none where nothing was added.
func (p *pages) allPages() [][]byte {
	if p.openItems > 0 {
		p.flushPage()
	}
	return p.finishedPages
}

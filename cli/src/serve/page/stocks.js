// Sales as bars: what is available, held and sold.

import { byId, draw, find, make, mark, say, sayName } from './dom.js'
import { count, percent, some } from './format.js'
import { List } from './list.js'

const PARTS = /** @type {const} */ (['sold', 'held', 'available'])

export class Stocks {
  constructor() {
    const root = byId('stocks')
    this.note = find(root, '.note')
    /** @type {List<StockRow>} */
    this.list = new List(find(root, '.list'), {
      label: 'Stocks: what is available, held and sold',
      list: 'stocks',
      id: (row) => `${row.scope ?? ''}\n${row.name}`,
      text: (row) => `${row.name} ${row.scope ?? ''}`,
      columns: [
        { title: 'Stock', className: 'name', cell: name },
        { title: 'Sold, held, available', className: 'bar-of', cell: bar },
        ...PARTS.map((part) => ({
          title: part === 'available' ? 'Left' : part === 'held' ? 'Held' : 'Sold',
          className: `number of-${part}`,
          cell: (/** @type {HTMLElement} */ cell) => (/** @type {StockRow} */ row) => say(cell, count(row[part])),
        })),
      ],
    })
  }

  /** @param {State} state @param {Moment} moment */
  show(state, moment) {
    this.list.show(state.stocks, state.stocks_total, moment)
    say(
      this.note,
      moment.unknown || (state.stocks_total === 0 ? 'There is no sale.' : some(state.stocks_total, 'sale')),
    )
  }
}

/** @param {HTMLElement} cell */
function name(cell) {
  const text = make('span', 'mono', cell)
  const line = make('span', 'sub', cell)
  return (/** @type {StockRow} */ row) => {
    sayName(text, row.name)
    const soldOut = row.available === 0 ? (row.held ? 'nothing left, some held' : 'sold out') : ''
    const parts = [
      row.scope ?? '',
      row.phase === 'ended' ? 'ended' : soldOut || 'open',
      row.total === null ? '' : `of ${count(row.total)}`,
    ]
    sayName(line, parts.filter(Boolean).join(' · '))
  }
}

/** @param {HTMLElement} cell */
function bar(cell) {
  const svg = draw('svg', { viewBox: '0 0 100 8', preserveAspectRatio: 'none', role: 'img' }, cell)
  const rects = PARTS.map((part) => draw('rect', { class: part, y: 0, height: 8 }, svg))
  return (/** @type {StockRow} */ row) => {
    const { total, available, held, sold } = row
    mark(svg, 'visibility', total ? null : 'hidden')
    if (!total) return
    let left = 0
    for (const [at, part] of PARTS.entries()) {
      const width = (100 * (row[part] ?? 0)) / total
      const rect = rects[at]
      if (!rect) continue
      mark(rect, 'x', left.toFixed(2))
      mark(rect, 'width', width.toFixed(2))
      left += width
    }
    mark(
      svg,
      'aria-label',
      `${percent(sold ?? 0, total)} sold, ${percent(held ?? 0, total)} held, ${percent(available ?? 0, total)} left`,
    )
  }
}

/** The function that runs in the browser: it must not refer to anything outside of itself. */

export type Fault = { what: string; message?: number }

export const TITLE = 'Messages'

/** Goes through all that the browser made of the messages, by lists of what may be there. */
export function auditMessages({ address, loads }: { address: string; loads: string }): Fault[] {
  const TAGS = new Set(
    `A ABBR ADDRESS ARTICLE ASIDE B BIG BLOCKQUOTE BR CAPTION CENTER CITE CODE COL COLGROUP DD DEL DIV DL DT EM
    FIGCAPTION FIGURE FONT FOOTER H1 H2 H3 H4 H5 H6 HEADER HR I IMG INS KBD LI MAIN MARK NAV OL P PRE Q S SAMP SECTION
    SMALL SPAN STRIKE STRONG SUB SUP TABLE TBODY TD TFOOT TH THEAD TIME TR TT U UL VAR`.split(/\s+/),
  )
  const ATTRIBUTES = new Set(
    `style dir lang align title href rel target src data-src alt width height referrerpolicy loading border cellpadding
    cellspacing bgcolor valign colspan rowspan span color face size start type datetime`.split(/\s+/),
  )
  const STYLES =
    /^(color|background-color|font-(family|size|style|weight)|text-align|text-decoration(-.+)?|vertical-align|white-space(-collapse)?|text-wrap(-mode)?|line-height|list-style-type|direction|(max-)?width|border.*|(margin|padding)-.+|overflow-[xy]|overflow-wrap)$/
  const faults: Fault[] = []
  const sections = [...document.querySelectorAll('body > section')]
  const scope = window as unknown as { hits: number }
  if (scope.hits !== 0) faults.push({ what: `runs code ${scope.hits} times` })
  if (document.title !== 'Messages' || document.baseURI !== address || window.name !== '') {
    faults.push({ what: 'changes the document' })
  }
  if (document.getAnimations().length > 0) faults.push({ what: 'moves' })

  for (const [message, section] of sections.entries()) {
    const add = (what: string) => faults.push({ what, message })
    if (section.children.length !== 4) add('leaves its place in the document')
    const shown = section.querySelector('.message')
    if (!shown) continue
    // A client that reads what it shows and writes it elsewhere has it parsed once more.
    const again = document.implementation.createHTMLDocument('').createElement('div')
    again.innerHTML = shown.innerHTML
    for (const element of [...shown.querySelectorAll('*'), ...again.querySelectorAll('*')]) auditElement(element, add)
    auditPlace(shown, add)
    for (const button of section.querySelectorAll('button')) auditButton(button, add)
  }
  return faults

  /** An element that scrolls shows nothing outside of itself; all others must lie within the place of the message. */
  function auditPlace(shown: Element, add: (what: string) => void) {
    const [first] = shown.children
    const is_boxed = first && shown.childNodes.length === 1 && getComputedStyle(first).overflow === 'auto'
    const content = document.createRange()
    content.selectNodeContents(shown)
    const place = shown.getBoundingClientRect()
    for (const { left, right, top, bottom } of is_boxed ? first.getClientRects() : content.getClientRects()) {
      if (left === right || top === bottom) continue
      const is_beside = left < place.left - 1 || right > place.right + 1
      if (is_beside || top < place.top - 4 || bottom > place.bottom + 4) add('sticks out of its place')
    }
  }

  function auditElement(element: Element, add: (what: string) => void) {
    if (!TAGS.has(element.tagName)) add(`has the element ${element.tagName}`)
    for (const { name } of element.attributes) if (!ATTRIBUTES.has(name)) add(`has the attribute ${name}`)
    if (element instanceof HTMLElement) {
      for (const name of element.style) if (!STYLES.test(name)) add(`has the style ${name}`)
      if (/url|image|expression|attr|var/.test(element.style.cssText)) add(`has the style ${element.style.cssText}`)
    }
    const { href, src } = Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value]))
    if (href !== undefined && !/^(https?|mailto|tel):$/.test(new URL(href, address).protocol)) add(`links to ${href}`)
    if (href !== undefined && element.getAttribute('rel') !== 'noopener noreferrer nofollow')
      add('links with a way back')
    const is_loaded = loads === 'https images' && /^https:\/\//i.test(src ?? '')
    if (src !== undefined && !is_loaded && !/^data:image\/(png|jpeg|gif|webp);/i.test(src)) add(`shows ${src}`)
  }

  function auditButton(button: HTMLButtonElement, add: (what: string) => void) {
    button.scrollIntoView({ block: 'center', behavior: 'instant' })
    const { left, top, width, height } = button.getBoundingClientRect()
    if (width !== 100 || height !== 30) add(`changes the button ${button.className}`)
    const place = { left: 8, right: document.documentElement.clientWidth - 108, below: 8 }[button.className]
    if (left !== place) add(`moves the button ${button.className}`)
    for (const [x, y] of [
      [0.5, 0.5],
      [0.02, 0.1],
      [0.98, 0.1],
      [0.02, 0.9],
      [0.98, 0.9],
    ] as const) {
      const found = document.elementFromPoint(left + x * width, top + y * height)
      if (found !== button) add(`covers the button ${button.className} with ${found?.outerHTML.slice(0, 200)}`)
    }
  }
}

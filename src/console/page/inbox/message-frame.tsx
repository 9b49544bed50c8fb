/**
 * Shows the HTML of a message in a frame of its own, in which no script can run. The HTML is not parsed there: it is
 * taken apart here, in a document that loads nothing, and only what may be shown is put into the frame. Unstyled
 * text goes into the page itself, without attributes. That takes a tenth of the time.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { fileAddress } from '../api'
import { whenIdle } from '../idle'
import { Button } from '../ui/buttons'
import { t } from '../words/catalogue'
import { isInSight, useNear } from './near'
import { putFrame } from './spare-frames'

/** Attributes that name something to be loaded. */
const LOADING = ['src', 'srcset', 'background', 'poster', 'data', 'href', 'action', 'formaction', 'ping', 'xlink:href']
const DROPPED =
  'script, style, link, meta, base, iframe, frame, object, embed, form, input, button, video, audio, source, svg, math, template'

/** Elements of unstyled text, and the attributes that they keep. */
const TEXT = 'p, br, div, span, a, b, strong, i, em, u, s, ul, ol, li, blockquote, pre, code'
const TEXT_KEEPS = ['href', 'target', 'rel', 'dir']

const COLOURED = /color|background/i
const COLOURING = '[bgcolor], [color], [background], img:not([src^="data:"]), table'

/** A longer message is scrolled in its frame: it must not push the rest of the ticket out of reach. */
const MOST_PX = 6000

const LEAST_ZOOM = 0.6

const BLOCKED =
  'display: inline-block; max-width: 100%; overflow: hidden; vertical-align: middle; border-radius: 4px; font-size: 12px; background: #e4e7e9'

type Prepared = {
  body: HTMLElement
  /** Styles of the elements of the body, in the order of the document. */
  styles: string[]
  /** Images that are not loaded yet. */
  waiting: number
  /** Without colours of its own: it is shown in those of the page. */
  is_plain: boolean
  /** It has nothing but text, which needs no frame. */
  is_text: boolean
}

/** Prepares HTML for the frame: a tree without anything that runs, loads or leads away. */
function prepare(html: string, shows_images: boolean): Prepared {
  const { body } = new DOMParser().parseFromString(withoutStyles(html), 'text/html')
  for (const element of body.querySelectorAll(DROPPED)) element.remove()
  let waiting = 0
  const styles: string[] = []
  for (const found of body.querySelectorAll<HTMLElement>('*')) {
    let element = found
    if (element instanceof HTMLImageElement && !showImage(element, shows_images)) {
      waiting++
      element = placeOfImage(element)
    } else if (element instanceof HTMLAnchorElement) openBeside(element)
    styles.push(takeStyle(element))
    for (const { name } of [...element.attributes]) {
      const is_kept = element instanceof HTMLImageElement ? name === 'src' : name === 'href'
      if (name.startsWith('on') || (LOADING.includes(name) && !is_kept)) element.removeAttribute(name)
    }
  }
  const is_plain = styles.every((style) => !COLOURED.test(style)) && !body.querySelector(COLOURING)
  const is_text = waiting === 0 && styles.every((style) => style === '') && !body.querySelector(`:not(${TEXT})`)
  return { body, styles, waiting, is_plain, is_text }
}

/**
 * Renames the attribute `style`, which the policy of the page forbids even in a document that is only parsed. In HTML
 * that the service has cleaned a quotation mark within a tag is always one around a value.
 */
function withoutStyles(html: string): string {
  return html.replace(/\sstyle="(?=[^<>]*>)/gi, ' data-style="')
}

/** Takes the style of an element. One that would load an image is dropped. */
function takeStyle(element: HTMLElement): string {
  const style = element.dataset.style ?? ''
  element.removeAttribute('data-style')
  return /url\s*\(|image-set|@import|expression/i.test(style) ? '' : style
}

/** @returns false for an image of others that is not shown yet */
function showImage(image: HTMLImageElement, shows_images: boolean): boolean {
  const address = image.getAttribute('src') ?? image.dataset.src ?? ''
  image.removeAttribute('src')
  image.referrerPolicy = 'no-referrer'
  const own = /^data:image\//i.test(address) ? address : fileAddress(address)
  if (own) image.setAttribute('src', own)
  else if (!/^https:/i.test(address)) return true
  else if (shows_images) image.setAttribute('src', address)
  else return false
  return true
}

/** Puts an even place of its size instead of an image that is not shown: a browser would draw a broken one. */
function placeOfImage(image: HTMLImageElement): HTMLElement {
  const place = image.ownerDocument.createElement('span')
  place.textContent = image.alt
  const [width, height] = ['width', 'height'].map((name) => Number.parseInt(image.getAttribute(name) ?? '', 10))
  const size = [width && `width: ${width}px`, height && `height: ${height}px`].filter(Boolean).join('; ')
  place.dataset.style = `${BLOCKED}; ${size}`
  image.replaceWith(place)
  return place
}

function openBeside(link: HTMLAnchorElement): void {
  if (!/^(https?|mailto|tel):/i.test(link.getAttribute('href') ?? '')) link.removeAttribute('href')
  link.target = '_blank'
  link.rel = 'noopener noreferrer nofollow'
}

/** Puts a prepared message into the frame. A script may set styles, an attribute may not. */
function adopt(document: Document, { body, styles, is_plain }: Prepared): void {
  document.documentElement.className = is_plain ? 'plain' : ''
  document.querySelector<HTMLMetaElement>('meta[name="color-scheme"]')!.content = is_plain ? 'light dark' : 'light'
  const copy = document.importNode(body, true)
  for (const [place, element] of copy.querySelectorAll<HTMLElement>('*').entries()) {
    if (styles[place]) element.style.cssText = styles[place]
  }
  document.body.replaceChildren(...copy.childNodes)
}

/** Makes a mail that is too wide for its frame smaller, as mail programs do. Below `LEAST_ZOOM` it is scrolled. */
function fit({ documentElement: root, body }: Document): void {
  const { clientWidth, scrollWidth } = body.firstElementChild ?? body
  if (clientWidth === 0 || clientWidth >= scrollWidth) return
  root.style.zoom = String(Math.max(LEAST_ZOOM, (Number(root.style.zoom || 1) * clientWidth) / scrollWidth))
}

/**
 * Lays out a message that is far from what is seen: a browser tells no height of what it does not lay out. The message
 * keeps the height of what is in it, so that nothing jumps when it comes in sight. The browser itself lays out one that
 * is in sight, all of them at once.
 * @param waits it is drawn with the page, which has to be seen before
 */
function layOut(element: Element, waits: boolean, measure?: () => void): void {
  if (waits) {
    whenIdle(() => layOut(element, false, measure))
    return
  }
  const message = element.closest<HTMLElement>('.message')
  // The browser lays out all that stands beside the messages.
  if (!message?.isConnected || isInSight(message)) return
  message.style.contentVisibility = 'visible'
  measure?.()
  const [first, last] = [message.firstElementChild!, message.lastElementChild!].map((one) =>
    one.getBoundingClientRect(),
  )
  message.style.containIntrinsicBlockSize = `auto ${last!.bottom - first!.top}px`
  message.style.contentVisibility = ''
}

type MessageFrameProps = {
  html: string
  title: string
  /** It is drawn with the page. Others are drawn once they come near to what is seen. */
  is_first?: boolean | undefined
}

export function MessageFrame(props: MessageFrameProps) {
  const place = useRef<HTMLDivElement>(null)
  return useNear(place, props.is_first === true) ? <Content {...props} /> : <div ref={place} class="message-later" />
}

function Content({ html, title, is_first = false }: MessageFrameProps) {
  const [shows_images, setShowsImages] = useState(false)
  const prepared = useMemo(() => prepare(html, shows_images), [html, shows_images])
  if (prepared.is_text) return <Text {...prepared} is_first={is_first} />
  const { waiting } = prepared
  return (
    <>
      {waiting > 0 && (
        <p class="images">
          {t('message.images', { count: waiting })}{' '}
          <Button text={t('message.show_images')} onClick={() => setShowsImages(true)} />
        </p>
      )}
      <Frame key={String(shows_images)} {...{ prepared, title, shows_images, is_first }} />
    </>
  )
}

function Text({ body, is_first }: Prepared & { is_first: boolean }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const copy = document.importNode(body, true)
    for (const element of copy.querySelectorAll('*')) {
      for (const { name } of [...element.attributes]) if (!TEXT_KEEPS.includes(name)) element.removeAttribute(name)
    }
    place.current!.replaceChildren(...copy.childNodes)
    layOut(place.current!, is_first)
  }, [body])
  return <div ref={place} class="message-text" dir="auto" />
}

type FrameProps = { prepared: Prepared; title: string; shows_images: boolean; is_first: boolean }

function Frame({ prepared, title, shows_images, is_first }: FrameProps) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    let observer: ResizeObserver | undefined
    const frame = putFrame(place.current!, title, shows_images, (frame, document) => {
      frame.classList.toggle('is-plain', prepared.is_plain)
      adopt(document, prepared)
      const measure = () => {
        fit(document)
        frame.height = String(Math.min(document.documentElement.scrollHeight, MOST_PX))
      }
      layOut(frame, is_first, measure)
      observer = new ResizeObserver(measure)
      observer.observe(document.body)
    })
    return () => {
      observer?.disconnect()
      frame.remove()
    }
  }, [prepared])
  return <div ref={place} />
}

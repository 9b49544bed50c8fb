/**
 * Where a message is written: plain text, until something is formatted. Then the editor is loaded and goes on with the
 * text. A slash at the start of a word offers the macros.
 */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useImperativeHandle, useRef, useState } from 'preact/hooks'
import type { Macro } from '../../../desk/macros/model'
import { lazy } from '../lazy'
import { Options } from '../ui/combobox'
import { t } from '../words/catalogue'
import type { Editing, TextHandle, TextProps } from './editing'
import { type Format, Formatting } from './formatting'
import { MacroChoice } from './macros'
import { isHtml, toHtml } from './text-format'

type Props = TextProps & {
  handle: RefObject<TextHandle | undefined>
  macros: Macro[]
  chooseMacro: (id: string) => Promise<unknown>
  /** Buttons beside those that format. */
  tools: ComponentChildren
}

export const RichText = lazy(async () => (await import('./rich-text')).RichText)

export function TextField({ handle, macros, chooseMacro, tools, ...props }: Props) {
  const { value, write, is_off } = props
  const [is_choosing, setChoosing] = useState(false)
  const area = useRef<HTMLTextAreaElement>(null)
  const { editing, is_rich, inEditor, onReady, bePlain } = useEditor(props)
  useImperativeHandle(
    handle,
    () => ({ focus: () => (area.current ? area.current.focus() : inEditor((editor) => editor.focus())) }),
    [],
  )
  const onKeyDown = (event: KeyboardEvent) => {
    const is_command = event.ctrlKey || event.metaKey
    if (event.key === 'Enter' && is_command) props.send(event.shiftKey ? 'resolved' : undefined)
    else if (event.key === 'Escape') (event.target as HTMLElement).blur()
    else if (event.key === '/' && macros.length > 0 && startsWord()) setChoosing(true)
    else if (!is_rich && is_command && FORMAT_KEYS[event.key]) inEditor((editor) => editor.run(FORMAT_KEYS[event.key]!))
    else return
    event.preventDefault()
  }
  const goBack = (id: string | undefined) => {
    setChoosing(false)
    if (id) void chooseMacro(id)
    else if (editing.current) editing.current.insertText('/')
    else insertAtCursor(area.current!, '/', write)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears keys of the field in it
    <div class="writing" onPaste={(event) => void pasteFiles(event, props, inEditor)} onKeyDown={onKeyDown}>
      {is_rich ? (
        <RichText {...props} value={isHtml(value) ? value : toHtml(value)} onReady={onReady} />
      ) : (
        <PlainText {...props} area={area} />
      )}
      {is_choosing && <Macros macros={macros} choose={goBack} close={() => setChoosing(false)} />}
      <Formatting
        run={(format) => inEditor((editor) => editor.run(format))}
        bePlain={is_rich ? bePlain : undefined}
        is_off={is_off}
      >
        {tools}
        <MacroChoice macros={macros} choose={chooseMacro} is_off={is_off} />
      </Formatting>
    </div>
  )
}

/** The editor in the place of the plain text, once something is formatted. */
function useEditor({ value, write }: TextProps) {
  const [wants_rich, setWantsRich] = useState(false)
  const editing = useRef<Editing | undefined>(undefined)
  /** The work once the editor is there. */
  const waiting = useRef<((editing: Editing) => void) | undefined>(undefined)
  return {
    editing,
    is_rich: wants_rich || isHtml(value),
    inEditor(run: (editing: Editing) => void) {
      if (editing.current) return run(editing.current)
      waiting.current = run
      if (!isHtml(value) && value.trim()) write(toHtml(value))
      setWantsRich(true)
    },
    onReady(ready: Editing | undefined) {
      editing.current = ready
      if (!ready || !waiting.current) return
      ready.focus()
      waiting.current(ready)
      waiting.current = undefined
    },
    bePlain() {
      write(editing.current?.plain() ?? value)
      setWantsRich(false)
    },
  }
}

/** Puts pasted images into the text, and attaches other files. */
async function pasteFiles(
  event: ClipboardEvent,
  { uploadImage, attach }: TextProps,
  inEditor: (run: (editing: Editing) => void) => void,
): Promise<void> {
  const files = [...(event.clipboardData?.files ?? [])]
  if (files.length === 0) return
  event.preventDefault()
  const others = files.filter(({ type }) => !type.startsWith('image/'))
  if (others.length > 0) await attach(others)
  for (const file of files.filter(({ type }) => type.startsWith('image/'))) {
    const address = await uploadImage(file)
    if (address) inEditor((editor) => editor.insertImage(address))
  }
}

const FORMAT_KEYS: Record<string, Format> = { b: 'bold', i: 'italic' }

function PlainText({
  label,
  placeholder,
  value,
  is_off,
  write,
  area,
}: TextProps & { area: RefObject<HTMLTextAreaElement | null> }) {
  return (
    <label>
      <span class="unseen">{label}</span>
      <textarea
        ref={area}
        rows={4}
        dir="auto"
        value={value}
        readOnly={is_off}
        placeholder={placeholder}
        onInput={(event) => write((event.target as HTMLTextAreaElement).value)}
      />
    </label>
  )
}

/** Tells if what is typed now begins a word. */
function startsWord(): boolean {
  const { activeElement } = document
  if (activeElement instanceof HTMLTextAreaElement) {
    return /(^|\s)$/.test(activeElement.value.slice(0, activeElement.selectionStart))
  }
  const { anchorNode, anchorOffset = 0 } = getSelection() ?? {}
  return anchorNode?.nodeType !== Node.TEXT_NODE || /(^|\s)$/.test(anchorNode.textContent!.slice(0, anchorOffset))
}

function insertAtCursor(area: HTMLTextAreaElement, text: string, write: (text: string) => void): void {
  const { value, selectionStart: from, selectionEnd: to } = area
  write(value.slice(0, from) + text + value.slice(to))
  area.focus()
  requestAnimationFrame(() => area.setSelectionRange(from + text.length, from + text.length))
}

type MacrosProps = { macros: Macro[]; choose: (id: string | undefined) => void; close: () => void }

/** The macros above the text. Escape goes back to writing, and the slash is one. */
function Macros({ macros, choose, close }: MacrosProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.querySelector('input')?.focus(), [])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears keys of the field in it
    <div
      ref={box}
      class="snippets"
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Escape') choose(undefined)
      }}
      onFocusOut={(event) => {
        if (!box.current?.contains(event.relatedTarget as Node | null)) close()
      }}
    >
      <Options
        label={t('macro.choose')}
        options={macros.map(({ id, name, body }) => ({ value: id, text: name, hint: body?.slice(0, 40) }))}
        onChoose={choose}
      />
    </div>
  )
}

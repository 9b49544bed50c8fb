/**
 * Where a message is written: plain text, until something is formatted. Then the editor is loaded and goes on with the
 * text. At the start of a word a slash offers the macros, and in a note an `@` the members.
 */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useImperativeHandle, useRef, useState } from 'preact/hooks'
import type { Api } from '../api'
import { lazy } from '../lazy'
import { useNames } from '../names'
import { type Option, Options } from '../ui/combobox'
import { t } from '../words/catalogue'
import type { Editing, TextHandle, TextProps } from './editing'
import { type Format, Formatting } from './formatting'
import { MacroChoice, useMacros } from './macros'
import { type Mention, useMembers } from './named-members'
import { toHtml } from './text-format'

type Props = TextProps & {
  handle: RefObject<TextHandle | undefined>
  api: Api
  chooseMacro: (id: string) => Promise<unknown>
  /** Names a member in a note; absent in a reply. */
  mention?: ((member: Mention) => void) | undefined
  /** Buttons beside those that format. */
  tools: ComponentChildren
}

/** The keys that offer something to choose. */
const SIGNS = { macro: '/', member: '@' }

export const RichText = lazy(async () => (await import('./rich-text')).RichText)

export function TextField({ handle, api, chooseMacro, mention, tools, ...props }: Props) {
  const { write, is_off } = props
  const [choosing, setChoosing] = useState<keyof typeof SIGNS>()
  const [is_begun, setBegun] = useState(false)
  const macros = useNames(api, 'macros', is_begun)
  const area = useRef<HTMLTextAreaElement>(null)
  const { editing, is_rich, inEditor, onReady, bePlain } = useEditor(props)
  useHandle(handle, area, editing, inEditor, is_rich)
  const onKeyDown = (event: KeyboardEvent) => {
    // The menus of the tools handle their keys themselves.
    if ((event.target as HTMLElement).closest('[popover]')) return
    const is_command = event.ctrlKey || event.metaKey
    if (event.key === 'Enter' && is_command) props.send(event.shiftKey ? 'resolved' : undefined)
    else if (event.key === 'Escape') (event.target as HTMLElement).blur()
    else if (event.key === SIGNS.macro && macros?.length !== 0 && startsWord()) setChoosing('macro')
    else if (event.key === SIGNS.member && mention && startsWord()) setChoosing('member')
    else if (!is_rich && is_command && FORMAT_KEYS[event.key]) inEditor((editor) => editor.run(FORMAT_KEYS[event.key]!))
    else return
    event.preventDefault()
  }
  const insert = (text: string) => {
    if (editing.current) editing.current.insertText(text)
    else insertAtCursor(area.current!, text, (all) => write(all, 'text'))
  }
  const goBack = (chosen: Option | undefined, typed = '') => {
    setChoosing(undefined)
    if (!chosen) insert(SIGNS[choosing!] + typed)
    else if (choosing === 'macro') void chooseMacro(chosen.value)
    else {
      insert(`@${chosen.text} `)
      mention!({ id: chosen.value, name: chosen.text })
    }
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears keys of the field in it
    <div
      class="writing"
      onPaste={(event) => void pasteFiles(event, props, inEditor)}
      onKeyDown={onKeyDown}
      onFocusIn={() => setBegun(true)}
    >
      {is_rich ? <RichText {...props} onReady={onReady} /> : <PlainText {...props} area={area} />}
      {choosing && <Choice of={choosing} api={api} choose={goBack} close={() => setChoosing(undefined)} />}
      <Formatting
        run={(format) => inEditor((editor) => editor.run(format))}
        bePlain={is_rich ? bePlain : undefined}
        is_off={is_off}
      >
        {tools}
        <MacroChoice api={api} choose={chooseMacro} is_off={is_off} />
      </Formatting>
    </div>
  )
}

/** Lets others put the cursor into the field, whichever is shown. */
function useHandle(
  handle: Props['handle'],
  area: RefObject<HTMLTextAreaElement | null>,
  editing: RefObject<Editing | undefined>,
  inEditor: (run: (editing: Editing) => void) => void,
  is_rich: boolean,
): void {
  useImperativeHandle(
    handle,
    () => ({
      focus(cursor) {
        if (!area.current) return inEditor((editor) => editor.focus(cursor))
        area.current.focus()
        if (cursor) area.current.setSelectionRange(...cursor)
      },
      cursor: () =>
        area.current ? [area.current.selectionStart, area.current.selectionEnd] : editing.current?.cursor(),
    }),
    [is_rich],
  )
}

/** The editor in the place of the plain text, once something is formatted. */
function useEditor({ value, format, write }: TextProps) {
  const editing = useRef<Editing | undefined>(undefined)
  /** The work once the editor is there. */
  const waiting = useRef<((editing: Editing) => void) | undefined>(undefined)
  return {
    editing,
    is_rich: format === 'html',
    inEditor(run: (editing: Editing) => void) {
      if (editing.current) return run(editing.current)
      waiting.current = run
      if (format !== 'html') write(value.trim() ? toHtml(value) : '', 'html')
    },
    onReady(ready: Editing | undefined) {
      editing.current = ready
      if (!ready || !waiting.current) return
      ready.focus()
      waiting.current(ready)
      waiting.current = undefined
    },
    bePlain() {
      write(editing.current?.plain() ?? value, 'text')
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
        onInput={(event) => write((event.target as HTMLTextAreaElement).value, 'text')}
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

type ChoiceProps = {
  of: keyof typeof SIGNS
  api: Api
  choose: (one: Option | undefined, typed?: string) => void
  close: () => void
}

/**
 * The macros or members above the text, which may still be on their way. Escape goes back to writing, and the sign is
 * one; so it does when there are none, with what was typed meanwhile.
 */
function Choice({ of, api, choose, close }: ChoiceProps) {
  const box = useRef<HTMLDivElement>(null)
  const options = (of === 'macro' ? useMacros : useMembers)(api)
  const field = () => box.current?.querySelector('input')
  useEffect(() => field()?.focus(), [])
  useEffect(() => {
    if (options?.length === 0) choose(undefined, field()?.value)
  }, [options?.length])
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
        label={t(of === 'macro' ? 'macro.choose' : 'composer.name_member')}
        options={options}
        onChoose={(id) => choose(options?.find(({ value }) => value === id))}
      />
    </div>
  )
}

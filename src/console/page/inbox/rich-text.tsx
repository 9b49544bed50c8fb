/** The editor for formatted text: Tiptap, in a file of its own that is loaded when something is formatted. */
import { Editor } from '@tiptap/core'
import Image from '@tiptap/extension-image'
import StarterKit from '@tiptap/starter-kit'
import { useEffect, useRef, useState } from 'preact/hooks'
import { fileAddress } from '../api'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { t } from '../words/catalogue'
import type { Editing, TextProps } from './editing'
import type { Format } from './formatting'

/** Shows an image of the service from this page's own origin, and keeps the address that the service knows. */
const OwnImage = Image.extend({
  renderHTML({ HTMLAttributes }) {
    const { src, alt } = HTMLAttributes as { src: string; alt?: string }
    return ['img', { src: fileAddress(src) ?? '', alt: alt ?? '', 'data-address': src }]
  },
  addAttributes() {
    return {
      alt: { default: null },
      src: {
        default: null,
        parseHTML: (element) => element.getAttribute('data-address') ?? element.getAttribute('src'),
      },
    }
  },
})

const MOST_WRITTEN = 100

type Props = TextProps & { onReady: (editing: Editing | undefined) => void }

export function RichText({ label, placeholder, value, is_off, write, onReady }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor>(undefined)
  const [asks_link, setAsksLink] = useState(false)
  /** The text that was written here of late: another comes from elsewhere. Drawing follows a little later. */
  const written = useRef([value])
  const writing = useRef(write)
  writing.current = write
  useEffect(() => {
    const made = makeEditor(box.current!, value, label, placeholder, (html) => {
      written.current = [html, ...written.current].slice(0, MOST_WRITTEN)
      writing.current(html, 'html')
    })
    editor.current = made
    onReady(editingOf(made, () => setAsksLink(true)))
    return () => {
      onReady(undefined)
      made.destroy()
    }
  }, [])
  useEffect(() => {
    if (written.current.includes(value)) return
    written.current = [value]
    editor.current!.commands.setContent(simpleHtml(value), { emitUpdate: false })
  }, [value])
  useEffect(() => editor.current!.setEditable(!is_off, false), [is_off])
  const link = async (form: FormData) => {
    setAsksLink(false)
    setLink(editor.current!, String(form.get('address')).trim())
  }
  return (
    <>
      <div ref={box} class="rich-text" />
      {asks_link && (
        <Dialog title={t('format.link')} onClose={() => setAsksLink(false)}>
          <Form submit={t('format.link')} onCancel={() => setAsksLink(false)} send={link}>
            <Field label={t('format.link_address')} name="address" type="url" value="https://" required />
          </Form>
        </Dialog>
      )}
    </>
  )
}

function makeEditor(
  element: HTMLElement,
  html: string,
  label: string,
  placeholder: string,
  write: (html: string) => void,
): Editor {
  return new Editor({
    element,
    // The policy of the page allows no style that a script writes into it.
    injectCSS: false,
    content: simpleHtml(html),
    extensions: [
      StarterKit.configure({ heading: false, horizontalRule: false, link: { openOnClick: false, autolink: true } }),
      OwnImage.configure({ inline: true }),
    ],
    editorProps: {
      attributes: {
        role: 'textbox',
        'aria-multiline': 'true',
        'aria-label': label,
        'aria-placeholder': placeholder,
        dir: 'auto',
      },
    },
    onUpdate: ({ editor }) => write(editor.isEmpty ? '' : htmlOf(editor)),
  })
}

/** The text, with the addresses that the service knows. */
function htmlOf(editor: Editor): string {
  return editor.getHTML().replace(/<img src="[^"]*"([^>]*) data-address="([^"]*)">/g, '<img src="$2"$1>')
}

/** Attributes that the editor reads. The policy forbids others, such as handlers, even in what is only parsed. */
const KEPT = /(?<=\s)(href|src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))/gi

/** The HTML with nothing but its elements and what these need. What is no tag is text. */
function simpleHtml(html: string): string {
  return html.replace(
    /<(\/?[a-z][a-z0-9]*)((?:\s(?:"[^"]*"|'[^']*'|[^"'<>])*)?)>|</gi,
    (_, name?: string, rest = '') => {
      if (!name) return '&lt;'
      const kept = [...rest.matchAll(KEPT)].map(([, attribute, ...values]) => {
        const value = values.find((one: string | undefined) => one !== undefined) ?? ''
        return ` ${attribute}="${value.replaceAll('"', '&quot;')}"`
      })
      return `<${name}${kept.join('')}>`
    },
  )
}

/** @param askLink asks for the address of a link */
function editingOf(editor: Editor, askLink: () => void): Editing {
  const chain = () => editor.chain().focus()
  const formats: Record<Format, () => unknown> = {
    bold: () => chain().toggleBold().run(),
    italic: () => chain().toggleItalic().run(),
    bullets: () => chain().toggleBulletList().run(),
    numbers: () => chain().toggleOrderedList().run(),
    quote: () => chain().toggleBlockquote().run(),
    code: () => chain().toggleCodeBlock().run(),
    link: () => (editor.isActive('link') ? chain().extendMarkRange('link').unsetLink().run() : askLink()),
  }
  return {
    focus: (cursor) =>
      void (cursor
        ? editor.chain().focus().setTextSelection({ from: cursor[0], to: cursor[1] }).run()
        : editor.commands.focus('end')),
    cursor: () => [editor.state.selection.from, editor.state.selection.to],
    run: (format) => void formats[format](),
    insertImage: (src) => void chain().setImage({ src }).run(),
    insertText: (text) => void chain().insertContent({ type: 'text', text }).run(),
    plain: () => editor.getText({ blockSeparator: '\n\n' }),
  }
}

/** Makes a link of what is selected, or writes the address as one. */
function setLink(editor: Editor, href: string): void {
  const chain = editor.chain().focus()
  const { empty } = editor.state.selection
  const link = { type: 'text', text: href, marks: [{ type: 'link', attrs: { href } }] }
  ;(empty ? chain.insertContent(link) : chain.setLink({ href })).run()
}

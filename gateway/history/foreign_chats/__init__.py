"""Chats in the exports of other products: what is taken of them, whatever form they had there.

Of ChatGPT and Claude the export is a zip file, or the `conversations.json` in it; of Open WebUI a list of
chats, of LibreChat one chat. All change without notice: what is known is read, what is not is passed over,
and nothing of one chat keeps the others out.
"""

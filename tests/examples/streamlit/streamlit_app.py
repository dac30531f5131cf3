import streamlit as st

st.title("Example")
